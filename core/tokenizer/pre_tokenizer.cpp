// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/pre_tokenizer.h"

#include "core/tokenizer/json_node.h"

namespace titan {
namespace {

class PreTokenizers final : public PreTokenizer {
 public:
  explicit PreTokenizers(std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(PieceList& list) const override {
    for (const auto& step : steps_) step->apply(list);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonNode& node) {
  if (node.is_null()) return nullptr;
  if (!node.is_object()) node.fail("a pre-tokenizer (an object)");
  if (node.type() == "Sequence") {
    node.only_keys({"type", "pretokenizers"});
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    for (const JsonNode& item : node["pretokenizers"].items()) {
      steps.push_back(read_pre_tokenizer(item));
      if (!steps.back()) item.fail("a pre-tokenizer");
    }
    return std::make_unique<PreTokenizers>(std::move(steps));
  }
  if (node.type() == "UnicodeScripts") {
    node.only_keys({"type"});
    return make_script_split();
  }
  if (auto found = read_pattern_split(node)) return found;
  if (auto found = read_character_split(node)) return found;
  node["type"].refuse("this pre-tokenizer");
}

SplitBehavior read_behavior(const JsonNode& node) {
  const std::string& name = node.string();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  node.fail(
      "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

MetaspaceForm read_metaspace(const JsonNode& node) {
  node.only_keys({"type",
                  "replacement",
                  "str_rep",
                  "add_prefix_space",
                  "prepend_scheme",
                  "split"});
  MetaspaceForm form;
  form.mark = read_character(node["replacement"]);
  form.splits = node["split"].boolean_or(true);
  const bool adds = node["add_prefix_space"].boolean_or(true);
  form.scheme = node["prepend_scheme"].string_or(adds ? "always" : "never");
  if (form.scheme != "always" && form.scheme != "first" &&
      form.scheme != "never")
    node["prepend_scheme"].fail("always, first or never");
  if (form.scheme != "never" && !adds)
    node["prepend_scheme"].fail("never, as add_prefix_space is false");
  return form;
}

std::string read_character(const JsonNode& node) {
  const std::string& text = node.string();
  size_t end = 0;
  if (!text.empty()) next_code_point(text, end);
  if (text.empty() || end != text.size()) node.fail("one character");
  return text;
}

}  // namespace titan

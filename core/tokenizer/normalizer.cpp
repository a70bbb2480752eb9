// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/normalizer.h"

#include <vector>

#include "core/tokenizer/charsmap.h"
#include "core/tokenizer/json_node.h"

namespace titan {
namespace {

class Normalizers final : public Normalizer {
 public:
  explicit Normalizers(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(SourceText& source) const override {
    for (const auto& step : steps_) step->apply(source);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(const JsonNode& node)
      : charsmap_(decode_base64(node["precompiled_charsmap"].string(),
                                node["precompiled_charsmap"].where()),
                  node["precompiled_charsmap"].where()) {
    node.only_keys({"type", "precompiled_charsmap"});
  }
  void apply(SourceText& source) const override {
    source.text = charsmap_.normalize_graphemes(source.text);
  }

 private:
  Charsmap charsmap_;
};

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const JsonNode& node) {
  if (node.is_null()) return nullptr;
  if (!node.is_object()) node.fail("a normalizer (an object)");
  if (node.type() == "Sequence") {
    node.only_keys({"type", "normalizers"});
    std::vector<std::unique_ptr<Normalizer>> steps;
    for (const JsonNode& item : node["normalizers"].items()) {
      steps.push_back(read_normalizer(item));
      if (!steps.back()) item.fail("a normalizer");
    }
    return std::make_unique<Normalizers>(std::move(steps));
  }
  if (node.type() == "Precompiled") return std::make_unique<Precompiled>(node);
  if (auto found = read_unicode_normalizer(node)) return found;
  if (auto found = read_edit_normalizer(node)) return found;
  node["type"].refuse("this normalizer");
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/post_processor.h"

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {
namespace {

int32_t read_id(const JsonNode& node) {
  return static_cast<int32_t>(node.integer(0, kMaxTokenId));
}

// ids of the special token `piece` names.
std::vector<int32_t> read_special(const JsonNode& piece,
                                  const JsonNode& known) {
  const std::string& name = piece["id"].string();
  if (!known.is_object() || !known.has(name))
    piece["id"].fail("a name of special_tokens");
  const JsonNode entry = known[name];
  entry.only_keys({"id", "ids", "tokens"});
  std::vector<int32_t> ids;
  for (const JsonNode& id : entry["ids"].items()) ids.push_back(read_id(id));
  return ids;
}

TokenTemplate read_template(const JsonNode& node) {
  node.only_keys({"type", "single", "pair", "special_tokens"});
  TokenTemplate out;
  bool has_text = false;
  for (const JsonNode& item : node["single"].items()) {
    if (!item.is_object()) item.fail("Sequence or SpecialToken");
    item.only_keys({"Sequence", "SpecialToken"});
    if (item.has("Sequence")) {
      if (has_text) item.refuse("a template with its text twice");
      if (item["Sequence"]["id"].string() != "A")
        item["Sequence"]["id"].fail("A");
      has_text = true;
      continue;
    }
    auto& side = has_text ? out.after : out.before;
    for (const int32_t id :
         read_special(item["SpecialToken"], node["special_tokens"]))
      side.push_back(id);
  }
  if (!has_text) node["single"].refuse("a template without its text");
  return out;
}

// [text, id] pairs; what else the two processors have concerns offsets.
TokenTemplate read_cls_and_sep(const JsonNode& node) {
  node.only_keys({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
  const auto id_of = [](const JsonNode& pair) {
    const std::vector<JsonNode> items = pair.items();
    if (items.size() != 2) pair.fail("a token and its id");
    items[0].string();
    return read_id(items[1]);
  };
  return {{id_of(node["cls"])}, {id_of(node["sep"])}};
}

// Each processor wraps what those before it made.
TokenTemplate read_sequence(const JsonNode& node) {
  node.only_keys({"type", "processors"});
  TokenTemplate out;
  for (const JsonNode& item : node["processors"].items()) {
    if (item.is_null()) item.fail("a post-processor");
    TokenTemplate outer = read_post_processor(item);
    outer.before.insert(
        outer.before.end(), out.before.begin(), out.before.end());
    out.after.insert(out.after.end(), outer.after.begin(), outer.after.end());
    out.before = std::move(outer.before);
  }
  return out;
}

}  // namespace

TokenTemplate read_post_processor(const JsonNode& node) {
  if (node.is_null()) return {};
  if (!node.is_object()) node.fail("a post-processor (an object)");
  const std::string type = node.type();
  if (type == "Sequence") return read_sequence(node);
  if (type == "TemplateProcessing") return read_template(node);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return read_cls_and_sep(node);
  if (type != "ByteLevel") node["type"].refuse("this post-processor");
  // Changes offsets only.
  node.only_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  return {};
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Normalizers that add, remove or replace stretches of text.
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/text_pattern.h"
#include "core/tokenizer/unicode_classes.h"

namespace titan {
namespace {

class Strip final : public Normalizer {
 public:
  explicit Strip(const JsonNode& node)
      : left_(node["strip_left"].boolean()),
        right_(node["strip_right"].boolean()) {
    node.only_keys({"type", "strip_left", "strip_right"});
  }
  void apply(SourceText& source) const override {
    std::string& text = source.text;
    if (right_) text.resize(start_of_trailing_space(text));
    const size_t leading = left_ ? length_of_leading_space(text) : 0;
    if (leading > 0) source.is_at_start = false;
    text.erase(0, leading);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const JsonNode& node) : prefix_(node["prepend"].string()) {
    node.only_keys({"type", "prepend"});
  }
  void apply(SourceText& source) const override {
    if (!source.text.empty()) source.text.insert(0, prefix_);
  }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  explicit Replace(const JsonNode& node)
      : pattern_(node["pattern"]), content_(node["content"].string()) {
    node.only_keys({"type", "pattern", "content"});
  }
  void apply(SourceText& source) const override {
    std::string out = pattern_.replace_all(source.text, content_);
    if (content_.empty() && !out.empty() && !source.text.starts_with(out[0]))
      source.is_at_start = false;
    source.text = std::move(out);
  }

 private:
  TextPattern pattern_;
  std::string content_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  explicit ByteLevelNormalizer(const JsonNode& node) {
    node.only_keys({"type"});
  }
  void apply(SourceText& source) const override {
    source.text = to_byte_level(source.text);
  }
};

}  // namespace

std::unique_ptr<Normalizer> read_edit_normalizer(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "Strip") return std::make_unique<Strip>(node);
  if (type == "Prepend") return std::make_unique<Prepend>(node);
  if (type == "Replace") return std::make_unique<Replace>(node);
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>(node);
  return nullptr;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Pre-tokenizers that cut by a pattern: Split, ByteLevel and Whitespace.
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/text_pattern.h"

namespace titan {

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
    R"(|\s+(?!\S)|\s+)";

namespace {

class Split final : public PreTokenizer {
 public:
  explicit Split(const JsonNode& node)
      : pattern_(node["pattern"]),
        behavior_(read_behavior(node["behavior"])),
        inverts_(node["invert"].boolean()) {
    node.only_keys({"type", "pattern", "behavior", "invert"});
  }
  void apply(PieceList& list) const override {
    list.split(behavior_,
               [&](std::string_view text, std::vector<MatchSpan>& spans) {
                 pattern_.append_matches(text, spans);
                 if (!inverts_) return;
                 for (MatchSpan& span : spans) span.is_match = !span.is_match;
               });
  }

 private:
  TextPattern pattern_;
  SplitBehavior behavior_;
  bool inverts_;
};

class ByteLevelSplit final : public PreTokenizer {
 public:
  // trim_offsets concerns offsets, which we do not report.
  explicit ByteLevelSplit(const JsonNode& node)
      : pattern_(kGpt2Pattern, node.where()),
        adds_space_(node["add_prefix_space"].boolean()),
        splits_(node["use_regex"].boolean_or(true)) {
    node.only_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  }
  void apply(PieceList& list) const override {
    using Piece = PieceList::Piece;
    if (adds_space_)
      list.rewrite(
          [](const Piece& piece) { return !piece.text.starts_with(' '); },
          [](const Piece& piece) { return ' ' + std::string(piece.text); });
    if (splits_)
      list.split(SplitBehavior::kIsolated,
                 [&](std::string_view text, std::vector<MatchSpan>& spans) {
                   pattern_.append_matches(text, list.regex(), spans);
                 });
    list.rewrite([](const Piece&) { return true; },
                 [](const Piece& piece) { return to_byte_level(piece.text); });
  }

 private:
  SplitPattern pattern_;
  bool adds_space_;
  bool splits_;
};

// \w+|[^\w\s]+ with the meaning of Rust's regex crate; what matches stays.
class Whitespace final : public PreTokenizer {
 public:
  explicit Whitespace(const JsonNode& node)
      : pattern_(SplitPattern::from_pcre2(
            "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|"
            "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"
            "\\p{White_Space}]+",
            node.where())) {
    node.only_keys({"type"});
  }
  void apply(PieceList& list) const override {
    list.split(SplitBehavior::kRemoved,
               [&](std::string_view text, std::vector<MatchSpan>& spans) {
                 pattern_.append_matches(text, list.regex(), spans);
                 for (MatchSpan& span : spans) span.is_match = !span.is_match;
               });
  }

 private:
  SplitPattern pattern_;
};

}  // namespace

std::unique_ptr<PreTokenizer> read_pattern_split(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "Split") return std::make_unique<Split>(node);
  if (type == "ByteLevel") return std::make_unique<ByteLevelSplit>(node);
  if (type == "Whitespace") return std::make_unique<Whitespace>(node);
  return nullptr;
}

}  // namespace titan

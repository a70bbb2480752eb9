// SPDX-License-Identifier: BSD-3-Clause
// Pre-tokenizers that cut at characters of a class, or by counting them.
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/text_pattern.h"
#include "core/tokenizer/unicode_classes.h"
#include "core/tokenizer/unicode_text.h"

namespace titan {
namespace {

using IsMatch = bool (*)(uint32_t);

// ASCII symbols ($+<=>^`|~) count as punctuation too.
bool is_bert_punctuation(uint32_t c) {
  const bool is_ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) ||
                        (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return is_ascii || is_punctuation(c);
}

void split_at(PieceList& list, IsMatch is_match, SplitBehavior behavior) {
  list.split(behavior,
             [&](std::string_view text, std::vector<MatchSpan>& spans) {
               append_character_matches(text, is_match, spans);
             });
}

class ClassSplit final : public PreTokenizer {
 public:
  ClassSplit(IsMatch is_match, SplitBehavior behavior)
      : is_match_(is_match), behavior_(behavior) {}
  void apply(PieceList& list) const override {
    split_at(list, is_match_, behavior_);
  }

 private:
  IsMatch is_match_;
  SplitBehavior behavior_;
};

class BertSplit final : public PreTokenizer {
 public:
  void apply(PieceList& list) const override {
    split_at(list, is_white_space, SplitBehavior::kRemoved);
    split_at(list, is_bert_punctuation, SplitBehavior::kIsolated);
  }
};

class DelimiterSplit final : public PreTokenizer {
 public:
  explicit DelimiterSplit(const JsonNode& node) {
    node.only_keys({"type", "delimiter"});
    size_t end = 0;
    delimiter_ = next_code_point(read_character(node["delimiter"]), end);
  }
  void apply(PieceList& list) const override {
    list.split(SplitBehavior::kRemoved,
               [&](std::string_view text, std::vector<MatchSpan>& spans) {
                 append_character_matches(
                     text, [&](uint32_t c) { return c == delimiter_; }, spans);
               });
  }

 private:
  uint32_t delimiter_;
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(const JsonNode& node)
      : length_(node["length"].is_null()
                    ? 5
                    : static_cast<size_t>(
                          node["length"].integer(1, int64_t{1} << 31))) {
    node.only_keys({"type", "length"});
  }
  void apply(PieceList& list) const override {
    list.split(SplitBehavior::kIsolated,
               [&](std::string_view text, std::vector<MatchSpan>& spans) {
                 for (size_t i = 0; i < text.size();) {
                   const size_t begin = i;
                   for (size_t n = 0; n < length_ && i < text.size(); ++n)
                     next_code_point(text, i);
                   spans.push_back({begin, i, true});
                 }
               });
  }

 private:
  size_t length_;
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceForm form)
      : mark_(std::move(form.mark)),
        splits_(form.splits),
        prepends_always_(form.scheme == "always"),
        prepends_first_(form.scheme == "first") {}

  void apply(PieceList& list) const override {
    using Piece = PieceList::Piece;
    const auto wants_mark = [&](const Piece& piece) {
      return !piece.text.starts_with(mark_) && !piece.text.starts_with(' ') &&
             (prepends_always_ || (prepends_first_ && piece.is_at_start));
    };
    list.rewrite(
        [&](const Piece& piece) {
          return piece.text.find(' ') != piece.text.npos || wants_mark(piece);
        },
        [&](const Piece& piece) {
          std::string text = wants_mark(piece) ? mark_ : std::string();
          return text.append(replace_literal(piece.text, " ", mark_));
        });
    if (!splits_) return;
    list.split(SplitBehavior::kMergedWithNext,
               [&](std::string_view text, std::vector<MatchSpan>& spans) {
                 size_t end = 0;
                 const uint32_t mark = next_code_point(mark_, end);
                 append_character_matches(
                     text, [&](uint32_t c) { return c == mark; }, spans);
               });
  }

 private:
  std::string mark_;
  bool splits_;
  bool prepends_always_;
  bool prepends_first_;
};

}  // namespace

std::unique_ptr<PreTokenizer> read_character_split(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "CharDelimiterSplit")
    return std::make_unique<DelimiterSplit>(node);
  if (type == "FixedLength") return std::make_unique<FixedLength>(node);
  if (type == "Metaspace")
    return std::make_unique<Metaspace>(read_metaspace(node));
  if (type == "Punctuation") {
    node.only_keys({"type", "behavior"});
    return std::make_unique<ClassSplit>(is_bert_punctuation,
                                        node["behavior"].is_null()
                                            ? SplitBehavior::kIsolated
                                            : read_behavior(node["behavior"]));
  }
  if (type == "Digits") {
    node.only_keys({"type", "individual_digits"});
    return std::make_unique<ClassSplit>(is_numeric,
                                        node["individual_digits"].boolean()
                                            ? SplitBehavior::kIsolated
                                            : SplitBehavior::kContiguous);
  }
  if (type == "WhitespaceSplit") {
    node.only_keys({"type"});
    return std::make_unique<ClassSplit>(is_white_space,
                                        SplitBehavior::kRemoved);
  }
  if (type == "BertPreTokenizer") {
    node.only_keys({"type"});
    return std::make_unique<BertSplit>();
  }
  return nullptr;
}

}  // namespace titan

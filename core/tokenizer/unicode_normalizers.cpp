// SPDX-License-Identifier: BSD-3-Clause
// Normalizers that work on single characters by what Unicode says about them.
// Rules from `tokenizers`: normalizers/{unicode,bert,strip}.rs.
#include <optional>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/unicode_classes.h"
#include "core/tokenizer/unicode_text.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

// Rebuilds a text from what `step(out, code_point)` appends per character.
template <typename Step>
void rewrite(SourceText& source, Step step) {
  std::string out;
  out.reserve(source.text.size());
  for (size_t i = 0; i < source.text.size();) {
    step(out, next_code_point(source.text, i));
    if (out.empty()) source.is_at_start = false;
  }
  source.text = std::move(out);
}

class Form final : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void apply(SourceText& source) const override {
    if (form_ == NormalForm::kNfc && is_surely_nfc(source.text)) return;
    source.text = to_normal_form(source.text, form_);
  }

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void apply(SourceText& source) const override {
    rewrite(source, append_lower_case);
  }
};

class StripAccents final : public Normalizer {
 public:
  void apply(SourceText& source) const override {
    rewrite(source, [](std::string& out, uint32_t c) {
      if (!is_mark(c)) append_utf8(out, c);
    });
  }
};

class Nmt final : public Normalizer {
 public:
  void apply(SourceText& source) const override {
    rewrite(source, [](std::string& out, uint32_t c) {
      const bool is_dropped = (c >= 0x01 && c <= 0x08) || c == 0x0B ||
                              (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
                              c == 0x8F || c == 0x9F;
      if (!is_dropped) append_utf8(out, is_space(c) ? ' ' : c);
    });
  }

 private:
  static bool is_space(uint32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
           c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonNode& node)
      : cleans_(node["clean_text"].boolean()),
        spaces_chinese_(node["handle_chinese_chars"].boolean()),
        lowers_(node["lowercase"].boolean()),
        strips_accents_(node["strip_accents"].boolean_or(lowers_)) {
    node.only_keys({"type",
                    "clean_text",
                    "handle_chinese_chars",
                    "strip_accents",
                    "lowercase"});
  }

  void apply(SourceText& source) const override {
    if (cleans_) rewrite(source, clean);
    if (spaces_chinese_) rewrite(source, space_chinese);
    if (strips_accents_) {
      source.text = to_normal_form(source.text, NormalForm::kNfd);
      rewrite(source, [](std::string& out, uint32_t c) {
        if (!is_nonspacing_mark(c)) append_utf8(out, c);
      });
    }
    if (lowers_) rewrite(source, append_lower_case);
  }

 private:
  static void clean(std::string& out, uint32_t c) {
    const bool is_space =
        c == '\t' || c == '\n' || c == '\r' || is_white_space(c);
    const bool is_kept_control = c == '\t' || c == '\n' || c == '\r';
    if (c == 0 || c == 0xFFFD || (!is_kept_control && is_control_or_format(c)))
      return;
    append_utf8(out, is_space ? ' ' : c);
  }

  // 2B920 is how bert.rs writes 2B820; ids follow it.
  static bool is_chinese(uint32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
  }

  static void space_chinese(std::string& out, uint32_t c) {
    if (is_chinese(c)) out.push_back(' ');
    append_utf8(out, c);
    if (is_chinese(c)) out.push_back(' ');
  }

  bool cleans_;
  bool spaces_chinese_;
  bool lowers_;
  bool strips_accents_;
};

std::optional<NormalForm> form_of(const std::string& type) {
  if (type == "NFC") return NormalForm::kNfc;
  if (type == "NFD") return NormalForm::kNfd;
  if (type == "NFKC") return NormalForm::kNfkc;
  if (type == "NFKD") return NormalForm::kNfkd;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Normalizer> read_unicode_normalizer(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(node);
  std::unique_ptr<Normalizer> found;
  if (const auto form = form_of(type)) found = std::make_unique<Form>(*form);
  if (type == "Lowercase") found = std::make_unique<Lowercase>();
  if (type == "StripAccents") found = std::make_unique<StripAccents>();
  if (type == "Nmt") found = std::make_unique<Nmt>();
  if (found) node.only_keys({"type"});
  return found;
}

}  // namespace titan

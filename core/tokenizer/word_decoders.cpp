// SPDX-License-Identifier: BSD-3-Clause
// Decoders that put the spaces between words back: WordPiece, BPEDecoder,
// Metaspace and CTC.
#include <algorithm>

#include <titan/text.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/text_pattern.h"
#include "core/tokenizer/token_decoder.h"

namespace titan {
namespace {

// English as BERT's tokens spell it, closed up again (wordpiece.rs).
std::string clean_up(std::string text) {
  constexpr const char* kReplacements[][2] = {{" .", "."},
                                              {" ?", "?"},
                                              {" !", "!"},
                                              {" ,", ","},
                                              {" ' ", "'"},
                                              {" n't", "n't"},
                                              {" 'm", "'m"},
                                              {" do not", " don't"},
                                              {" 's", "'s"},
                                              {" 've", "'ve"},
                                              {" 're", "'re"}};
  for (const auto& [from, to] : kReplacements)
    text = replace_literal(text, from, to);
  return text;
}

class WordPieceDecoder final : public TokenDecoder {
 public:
  explicit WordPieceDecoder(const JsonNode& node)
      : prefix_(node["prefix"].string()), cleans_(node["cleanup"].boolean()) {
    node.only_keys({"type", "prefix", "cleanup"});
  }
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && parts[i].starts_with(prefix_))
        parts[i].erase(0, prefix_.size());
      else if (i > 0)
        parts[i] = text(' ', parts[i]);
      if (cleans_) parts[i] = clean_up(std::move(parts[i]));
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};

class BpeDecoder final : public TokenDecoder {
 public:
  explicit BpeDecoder(const JsonNode& node) : suffix_(node["suffix"].string()) {
    node.only_keys({"type", "suffix"});
    if (suffix_.empty()) node["suffix"].fail("a text that is not empty");
  }
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i] =
          replace_literal(parts[i], suffix_, i + 1 < parts.size() ? " " : "");
  }

 private:
  std::string suffix_;
};

class MetaspaceDecoder final : public TokenDecoder {
 public:
  explicit MetaspaceDecoder(MetaspaceForm form)
      : mark_(std::move(form.mark)), drops_first_(form.scheme != "never") {}
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i] =
          replace_literal(parts[i], mark_, i == 0 && drops_first_ ? "" : " ");
  }

 private:
  std::string mark_;
  bool drops_first_;
};

class CtcDecoder final : public TokenDecoder {
 public:
  explicit CtcDecoder(const JsonNode& node)
      : pad_(node["pad_token"].string()),
        delimiter_(node["word_delimiter_token"].string()),
        cleans_(node["cleanup"].boolean()) {
    node.only_keys({"type", "pad_token", "word_delimiter_token", "cleanup"});
    if (pad_.empty()) node["pad_token"].fail("a text that is not empty");
    if (delimiter_.empty())
      node["word_delimiter_token"].fail("a text that is not empty");
  }
  void apply(std::vector<std::string>& parts) const override {
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (std::string& part : parts) {
      part = replace_literal(part, pad_, "");
      if (cleans_)
        part = replace_literal(clean_up(std::move(part)), delimiter_, " ");
    }
    std::erase(parts, "");
  }

 private:
  std::string pad_;
  std::string delimiter_;
  bool cleans_;
};

}  // namespace

std::unique_ptr<TokenDecoder> read_word_decoder(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(node);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(node);
  if (type == "Metaspace")
    return std::make_unique<MetaspaceDecoder>(read_metaspace(node));
  if (type == "CTC") return std::make_unique<CtcDecoder>(node);
  return nullptr;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/token_decoder.h"

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

class TokenDecoders final : public TokenDecoder {
 public:
  explicit TokenDecoders(std::vector<std::unique_ptr<TokenDecoder>> steps)
      : steps_(std::move(steps)) {}
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < steps_.size(); ++i) {
      steps_[i]->apply(parts);
      if (i + 1 == steps_.size()) break;
      for (std::string& part : parts)
        if (find_invalid_utf8(part)) part = to_valid_utf8(part);
    }
  }

 private:
  std::vector<std::unique_ptr<TokenDecoder>> steps_;
};

}  // namespace

std::unique_ptr<TokenDecoder> read_token_decoder(const JsonNode& node) {
  if (node.is_null()) return nullptr;
  if (!node.is_object()) node.fail("a decoder (an object)");
  if (node.type() == "Sequence") {
    node.only_keys({"type", "decoders"});
    std::vector<std::unique_ptr<TokenDecoder>> steps;
    for (const JsonNode& item : node["decoders"].items()) {
      steps.push_back(read_token_decoder(item));
      if (!steps.back()) item.fail("a decoder");
    }
    return std::make_unique<TokenDecoders>(std::move(steps));
  }
  if (auto found = read_byte_decoder(node)) return found;
  if (auto found = read_word_decoder(node)) return found;
  node["type"].refuse("this decoder");
}

}  // namespace titan

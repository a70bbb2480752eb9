// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/tokenizer_config.h"

#include <charconv>

#include <titan/error.h>

#include "core/tokenizer/json_node.h"

namespace titan {
namespace {

struct Role {
  const char* key;
  std::optional<SpecialToken> SpecialTokens::*token;
};

constexpr Role kRoles[] = {{"bos_token", &SpecialTokens::bos},
                           {"eos_token", &SpecialTokens::eos},
                           {"unk_token", &SpecialTokens::unk},
                           {"sep_token", &SpecialTokens::sep},
                           {"pad_token", &SpecialTokens::pad},
                           {"cls_token", &SpecialTokens::cls},
                           {"mask_token", &SpecialTokens::mask}};

SpecialToken read_token(const JsonNode& node) {
  if (node.is_string()) return {node.string(), std::nullopt};
  if (!node.is_object()) node.fail("a string or an object with content");
  return {node["content"].string(), std::nullopt};
}

void read_additional(const JsonNode& node, std::vector<SpecialToken>& out) {
  if (node.is_null()) return;
  if (node.is_object()) {
    for (const auto& [name, token] : node.members())
      out.push_back(read_token(token));
    return;
  }
  for (const JsonNode& token : node.items()) out.push_back(read_token(token));
}

void read_roles(const JsonNode& root, TokenizerConfig& config) {
  for (const Role& role : kRoles) {
    if (!root.has(role.key)) continue;
    const JsonNode node = root[role.key];
    auto& token = config.special.*role.token;
    token = node.is_null() ? std::nullopt
                           : std::optional<SpecialToken>(read_token(node));
  }
  config.says_bos |= root.has("bos_token");
  config.says_eos |= root.has("eos_token");
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    if (root.has(key)) {
      config.special.additional.clear();
      read_additional(root[key], config.special.additional);
    }
}

int32_t read_id(const std::string& digits, const JsonNode& node) {
  int64_t id = -1;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, id);
  TITAN_USER_CHECK(
      error == std::errc() && stop == end && id >= 0 && id <= kMaxTokenId,
      '[',
      node.where(),
      "] token id: expected 0 to ",
      kMaxTokenId,
      ", got ",
      digits);
  return static_cast<int32_t>(id);
}

void read_added_tokens_decoder(const JsonNode& node,
                               std::vector<AddedToken>& out) {
  if (node.is_null()) return;
  for (const auto& [digits, json] : node.members()) {
    AddedToken token;
    token.id = read_id(digits, json);
    token.content = read_token(json).content;
    if (token.content.empty()) json.fail("content that is not empty");
    if (json.is_object()) {
      token.single_word = json["single_word"].boolean_or(false);
      token.lstrip = json["lstrip"].boolean_or(false);
      token.rstrip = json["rstrip"].boolean_or(false);
      token.special = json["special"].boolean_or(false);
      token.normalized = json["normalized"].boolean_or(!token.special);
    }
    out.push_back(std::move(token));
  }
}

std::optional<bool> read_flag(const JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  return node.boolean();
}

}  // namespace

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  const std::filesystem::path path = folder / "tokenizer_config.json";
  config.name = path.string();
  bool is_new = false;
  if (std::filesystem::exists(path)) {
    const JsonFile file(path);
    const JsonNode root = file.root();
    if (!root.is_object()) root.fail("an object");
    read_roles(root, config);
    read_added_tokens_decoder(root["added_tokens_decoder"],
                              config.added_tokens);
    config.special.add_bos_token = read_flag(root["add_bos_token"]);
    config.special.add_eos_token = read_flag(root["add_eos_token"]);
    is_new = !root["added_tokens_decoder"].is_null();
  }
  const std::filesystem::path map = folder / "special_tokens_map.json";
  if (!is_new && std::filesystem::exists(map)) {
    const JsonFile file(map);
    if (!file.root().is_object()) file.root().fail("an object");
    read_roles(file.root(), config);
  }
  return config;
}

SpecialTokens read_special_tokens(const std::filesystem::path& folder) {
  return read_tokenizer_config(folder).special;
}

}  // namespace titan

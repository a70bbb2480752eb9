// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/tokenizer_json.h"

#include <algorithm>

#include <titan/error.h>

#include "core/tokenizer/bpe_model.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/byte_level_bpe.h"
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/pipeline_tokenizer.h"

namespace titan {
namespace {

// The patterns of a pre-tokenizer that the byte-level shortcut can run: any
// number of isolating Split, then ByteLevel. Nothing for all others.
std::optional<std::vector<std::string>> byte_level_patterns(
    const JsonNode& node) {
  if (!node.is_object()) return std::nullopt;
  std::vector<JsonNode> steps = {node};
  if (node.type() == "Sequence") steps = node["pretokenizers"].items();
  if (steps.empty() || steps.back().type() != "ByteLevel") return std::nullopt;
  const JsonNode last = steps.back();
  steps.pop_back();
  std::vector<std::string> patterns;
  for (const JsonNode& step : steps) {
    const bool is_plain =
        step.type() == "Split" && step["pattern"].is_object() &&
        step["pattern"]["Regex"].is_string() && step["behavior"].is_string() &&
        step["behavior"].string() == "Isolated" &&
        !step["invert"].boolean_or(false);
    if (!is_plain) return std::nullopt;
    patterns.push_back(step["pattern"]["Regex"].string());
  }
  if (last["add_prefix_space"].boolean_or(true)) return std::nullopt;
  if (last["use_regex"].boolean_or(true)) patterns.push_back(kGpt2Pattern);
  return patterns;
}

// With every byte a token, the unknown token and byte tokens are never needed.
bool is_byte_level(const BpeFile& file) {
  if (!file.continuing_subword_prefix.empty() ||
      !file.end_of_word_suffix.empty())
    return false;
  for (int byte = 0; byte < 256; ++byte)
    if (!file.tokens.find(
            to_byte_level(std::string(1, static_cast<char>(byte)))))
      return false;
  return true;
}

ByteLevelFile to_byte_level_file(const BpeFile& file,
                                 std::vector<std::string> patterns,
                                 const std::string& name) {
  ByteLevelFile out;
  out.name = name;
  out.patterns = std::move(patterns);
  out.ignore_merges = file.ignore_merges;
  for (size_t id = 0; id < file.tokens.end(); ++id) {
    const auto number = static_cast<int32_t>(id);
    const std::string* token = file.tokens.text_of(number);
    if (!token) continue;
    // Tokens outside the alphabet can be decoded but never come from text.
    const auto bytes = bytes_of_byte_level(*token);
    out.tokens.push_back({bytes.value_or(*token), number, bytes.has_value()});
  }
  uint32_t rank = 0;
  for (const BpeFile::Merge& merge : file.merges)
    out.merges.push_back({merge.left, merge.right, rank++, merge.merged});
  return out;
}

void check_top_level(const JsonNode& root) {
  if (!root.is_object()) root.fail("an object");
  root.only_keys({"version",
                  "truncation",
                  "padding",
                  "added_tokens",
                  "normalizer",
                  "pre_tokenizer",
                  "post_processor",
                  "decoder",
                  "model"});
  if (root["version"].string_or("1.0") != "1.0")
    root["version"].refuse("this version of the format");
  if (!root["truncation"].is_null())
    root["truncation"].refuse("cutting texts off");
  if (!root["padding"].is_null()) root["padding"].refuse("padding texts");
}

// Models have no row for an id without a token.
void require_tokens(const std::vector<int32_t>& ids,
                    const TokenTable& model,
                    const std::vector<AddedToken>& added,
                    const JsonNode& node) {
  for (const int32_t id : ids) {
    const bool is_added =
        std::any_of(added.begin(), added.end(), [&](const AddedToken& token) {
          return token.id == id;
        });
    TITAN_USER_CHECK(is_added || model.text_of(id),
                     '[',
                     node.where(),
                     "] id of a special token: expected that of a token, got ",
                     id);
  }
}

TokenizerFrame read_frame(const JsonNode& root,
                          const TokenTable& model,
                          const TokenizerConfig& config) {
  TokenizerFrame frame =
      make_frame(config,
                 model,
                 read_added_tokens(root["added_tokens"], model),
                 read_normalizer(root["normalizer"]),
                 read_post_processor(root["post_processor"]));
  for (const auto* ids : {&frame.around.before, &frame.around.after})
    require_tokens(*ids, model, frame.added_tokens, root["post_processor"]);
  return frame;
}

// update_post_processor of transformers: the flag decides, whatever the file's
// template says.
void apply_flag(std::optional<bool> adds,
                const std::optional<SpecialToken>& token,
                std::vector<int32_t>& side) {
  if (!adds || !token) return;
  const auto found = std::find(side.begin(), side.end(), *token->id);
  if (*adds && found == side.end())
    side.insert(side.begin(), *token->id);
  else if (!*adds && found != side.end())
    side.erase(found);
}

std::unique_ptr<Tokenizer> read_byte_level(const JsonNode& root,
                                           const TokenizerConfig& config,
                                           std::vector<std::string> patterns) {
  BpeFile file = read_bpe_file(root["model"]);
  TokenizerFrame frame = read_frame(root, file.tokens, config);
  if (is_byte_level(file))
    return std::make_unique<ByteLevelBpe>(
        to_byte_level_file(file, std::move(patterns), root.where()),
        std::move(frame));
  return std::make_unique<PipelineTokenizer>(
      TokenizerParts{std::move(frame),
                     read_pre_tokenizer(root["pre_tokenizer"]),
                     std::make_unique<BpeModel>(std::move(file)),
                     read_token_decoder(root["decoder"])});
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer_json(const JsonFile& file,
                                               const TokenizerConfig& config,
                                               TokenizerChoice choice) {
  const JsonNode root = file.root();
  check_top_level(root);
  const JsonNode model = root["model"];
  if (!model.is_object()) model.fail("a model (an object)");
  auto pre_tokenizer = read_pre_tokenizer(root["pre_tokenizer"]);
  auto decoder = read_token_decoder(root["decoder"]);
  const bool is_bpe = model["type"].string_or("BPE") == "BPE";
  const bool is_byte_decoder =
      root["decoder"].is_object() && root["decoder"].type() == "ByteLevel";
  auto patterns = byte_level_patterns(root["pre_tokenizer"]);
  if (choice == TokenizerChoice::kFastest && is_bpe && is_byte_decoder &&
      patterns)
    return read_byte_level(root, config, std::move(*patterns));
  TokenizerParts parts;
  parts.model = read_token_model(model);
  parts.frame = read_frame(root, parts.model->tokens(), config);
  parts.pre_tokenizer = std::move(pre_tokenizer);
  parts.decoder = std::move(decoder);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

TokenizerFrame make_frame(const TokenizerConfig& config,
                          const TokenTable& model,
                          std::vector<AddedToken> added,
                          std::unique_ptr<Normalizer> normalizer,
                          TokenTemplate around) {
  TokenizerFrame frame;
  frame.added_tokens = std::move(added);
  merge_config_tokens(
      config.added_tokens, model, config.name, frame.added_tokens);
  frame.normalizer = std::move(normalizer);
  frame.around = std::move(around);
  frame.special =
      resolve_special_tokens(config, frame.around, model, frame.added_tokens);
  apply_flag(
      config.special.add_bos_token, frame.special.bos, frame.around.before);
  apply_flag(
      config.special.add_eos_token, frame.special.eos, frame.around.after);
  return frame;
}

SpecialTokens resolve_special_tokens(const TokenizerConfig& config,
                                     const TokenTemplate& around,
                                     const TokenTable& model,
                                     const std::vector<AddedToken>& added) {
  Vocabulary added_ids;
  for (const AddedToken& token : added)
    added_ids.emplace(token.content, token.id);
  const auto resolve = [&](SpecialToken& token) {
    const auto found = added_ids.find(token.content);
    token.id = found != added_ids.end() ? std::optional(found->second)
                                        : model.find(token.content);
  };
  const auto infer =
      [&](const std::vector<int32_t>& ids) -> std::optional<SpecialToken> {
    if (ids.size() != 1) return std::nullopt;
    for (const AddedToken& token : added)
      if (token.id == ids[0]) return SpecialToken{token.content, ids[0]};
    const std::string* content = model.text_of(ids[0]);
    if (!content) return std::nullopt;
    return SpecialToken{*content, ids[0]};
  };
  SpecialTokens special = config.special;
  if (!config.says_bos) special.bos = infer(around.before);
  if (!config.says_eos) special.eos = infer(around.after);
  for (auto* token : {&special.bos,
                      &special.eos,
                      &special.unk,
                      &special.sep,
                      &special.pad,
                      &special.cls,
                      &special.mask})
    if (*token) resolve(**token);
  for (SpecialToken& token : special.additional) resolve(token);
  const auto require_id = [&](const std::optional<SpecialToken>& token,
                              const char* key) {
    TITAN_USER_CHECK(!token || token->id,
                     '[',
                     config.name,
                     ": ",
                     key,
                     "] no such token: ",
                     token ? token->content : "");
  };
  require_id(special.bos, "bos_token");
  require_id(special.eos, "eos_token");
  return special;
}

}  // namespace titan

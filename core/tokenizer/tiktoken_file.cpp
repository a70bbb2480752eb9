// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/tiktoken_file.h"

#include <algorithm>
#include <charconv>

#include <titan/error.h>

#include "core/tokenizer/base64.h"
#include "core/tokenizer/named_patterns.h"
#include "core/tokenizer/tokenizer_json.h"

namespace titan {
namespace {

int32_t read_rank(std::string_view digits, const std::string& where) {
  int64_t rank = -1;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, rank);
  TITAN_USER_CHECK(
      error == std::errc() && stop == end && rank >= 0 && rank <= kMaxTokenId,
      '[',
      where,
      "] rank: expected 0 to ",
      kMaxTokenId,
      ", got ",
      digits.substr(0, 20));
  return static_cast<int32_t>(rank);
}

// tiktoken merges neighbours whose joined bytes are a token, lowest rank first;
// a token may come about by any of its cuts.
void add_merges(ByteLevelFile& file, const Vocabulary& ids) {
  for (const ByteLevelFile::Token& token : file.tokens) {
    const std::string_view bytes = token.bytes;
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ids.find(bytes.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(bytes.substr(cut));
      if (right == ids.end()) continue;
      file.merges.push_back({left->second,
                             right->second,
                             static_cast<uint32_t>(token.id),
                             token.id});
    }
  }
}

struct SpecialSet {
  const char* pattern;
  size_t num_ranks;
  std::vector<std::pair<std::string, int32_t>> tokens;
};

std::vector<std::pair<std::string, int32_t>> llama3_special_tokens() {
  constexpr int32_t kFirst = 128000;
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|finetune_right_pad_id|>",
                                    "<|step_id|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eom_id|>",
                                    "<|eot_id|>",
                                    "<|python_tag|>"};
  for (int i = 2; names.size() < 256; ++i)
    names.push_back(text("<|reserved_special_token_", i, "|>"));
  std::vector<std::pair<std::string, int32_t>> tokens;
  for (const std::string& name : names)
    tokens.emplace_back(name, kFirst + static_cast<int32_t>(tokens.size()));
  return tokens;
}

// tiktoken_ext/openai_public.py; Llama 3.1's tokenizer.py.
const std::vector<SpecialSet>& special_sets() {
  static const std::vector<SpecialSet> sets = {
      {"gpt2", 50256, {{"<|endoftext|>", 50256}}},
      {"cl100k",
       100256,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k",
       199998,
       {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
      {"llama3", 128000, llama3_special_tokens()}};
  return sets;
}

std::vector<AddedToken> special_tokens_of(const std::string& pattern_name,
                                          size_t num_ranks) {
  std::vector<AddedToken> tokens;
  for (const SpecialSet& set : special_sets()) {
    if (set.pattern != pattern_name || set.num_ranks != num_ranks) continue;
    for (const auto& [content, id] : set.tokens) {
      AddedToken token;
      token.id = id;
      token.content = content;
      token.special = true;
      tokens.push_back(std::move(token));
    }
  }
  return tokens;
}

}  // namespace

ByteLevelFile parse_tiktoken(std::string_view ranks,
                             const std::string& name,
                             const std::string& pattern) {
  ByteLevelFile file;
  file.name = name;
  file.patterns = {pattern};
  file.ignore_merges = true;
  Vocabulary ids;
  std::vector<bool> is_used;
  for (size_t at = 0, number = 1; at < ranks.size(); ++number) {
    const size_t end = std::min(ranks.find('\n', at), ranks.size());
    std::string_view line = ranks.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = text(name, ':', number);
    const size_t space = line.find(' ');
    TITAN_USER_CHECK(space != line.npos,
                     '[',
                     where,
                     "] expected a token in base64, a space and a rank, got ",
                     line.size(),
                     " bytes without a space");
    std::string bytes = decode_base64(line.substr(0, space), where);
    const int32_t rank = read_rank(line.substr(space + 1), where);
    const auto index = static_cast<size_t>(rank);
    if (index >= is_used.size()) is_used.resize(index + 1);
    TITAN_USER_CHECK(
        !bytes.empty() && !is_used[index] && ids.emplace(bytes, rank).second,
        '[',
        where,
        "] expected each token and each rank once and no empty "
        "token, got rank ",
        rank);
    is_used[index] = true;
    file.tokens.push_back({std::move(bytes), rank, true});
  }
  add_merges(file, ids);
  return file;
}

std::string tiktoken_pattern_name(const std::string& file_name,
                                  const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  for (const char* name : {"cl100k", "o200k", "gpt2"})
    if (file_name.find(name) != file_name.npos) return name;
  for (const char* name : {"r50k", "p50k"})
    if (file_name.find(name) != file_name.npos) return "gpt2";
  if (file_name == "tokenizer.model") return "llama3";
  throw UserError(text("[tokenizer] ",
                       file_name,
                       " does not say which split pattern it goes with. Add "
                       "it: ",
                       file_name,
                       "#llama3 (or #cl100k, #o200k, #gpt2, #qwen2)"));
}

std::unique_ptr<Tokenizer> make_tiktoken_tokenizer(
    std::string_view ranks,
    const std::string& pattern_name,
    const TokenizerConfig& config,
    const std::string& name) {
  const ByteLevelFile file =
      parse_tiktoken(ranks, name, find_named_pattern(pattern_name));
  TokenTable table;
  for (const ByteLevelFile::Token& token : file.tokens)
    table.add(token.bytes, token.id);
  std::vector<AddedToken> added;
  if (config.added_tokens.empty())
    added = special_tokens_of(pattern_name, file.tokens.size());
  TokenizerConfig known = config;
  const auto infer = [&](const char* content) -> std::optional<SpecialToken> {
    for (const AddedToken& token : added)
      if (token.content == content) return SpecialToken{content, token.id};
    return std::nullopt;
  };
  if (!known.says_bos) known.special.bos = infer("<|begin_of_text|>");
  if (!known.says_eos) known.special.eos = infer("<|end_of_text|>");
  if (!known.says_eos && !known.special.eos)
    known.special.eos = infer("<|endoftext|>");
  known.says_bos = known.says_eos = true;
  return std::make_unique<ByteLevelBpe>(
      file,
      make_frame(known, table, std::move(added), nullptr, TokenTemplate{}));
}

}  // namespace titan

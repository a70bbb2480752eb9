// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/tokenizer.h"

#include <titan/error.h>

namespace titan {

std::optional<int> Tokenizer::bos_id() const {
  if (!special_tokens_.bos) return std::nullopt;
  return special_tokens_.bos->id;
}

std::optional<int> Tokenizer::eos_id() const {
  if (!special_tokens_.eos) return std::nullopt;
  return special_tokens_.eos->id;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text,
                                       bool add_bos,
                                       bool add_eos) const {
  const std::optional<int> bos = bos_id();
  const std::optional<int> eos = eos_id();
  TITAN_USER_CHECK(!add_bos || bos,
                   "[tokenizer] add_bos needs a BOS token, but the tokenizer "
                   "has none. Set bos_token in tokenizer_config.json or "
                   "add_bos: false");
  TITAN_USER_CHECK(!add_eos || eos,
                   "[tokenizer] add_eos needs an EOS token, but the tokenizer "
                   "has none. Set eos_token in tokenizer_config.json or "
                   "add_eos: false");
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 2);
  if (add_bos) ids.push_back(*bos);
  append_ids(text, ids);
  if (add_bos && ids.size() > 1 && ids[1] == *bos) ids.erase(ids.begin());
  // With bos == eos the token at the front is BOS, never also the EOS.
  const size_t first_text_id = add_bos ? 1 : 0;
  const bool has_eos =
      add_eos && ids.size() > first_text_id && ids.back() == *eos;
  if (add_eos && !has_eos) ids.push_back(*eos);
  return ids;
}

}  // namespace titan

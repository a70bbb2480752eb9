// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/byte_tokenizer.h"

#include "core/tokenizer/utf8.h"

namespace titan {

std::vector<int32_t> ByteTokenizer::encode_with_template(
    std::string_view text) const {
  return encode(text, /*add_bos=*/false, /*add_eos=*/false);
}

std::string ByteTokenizer::decode(std::span<const int32_t> ids, bool) const {
  std::string out;
  out.reserve(ids.size());
  for (const int32_t id : ids) {
    if (id >= 0 && id < 256)
      out.push_back(static_cast<char>(id));
    else
      append_utf8(out, 0xFFFD);
  }
  return out;
}

std::optional<int32_t> ByteTokenizer::token_id(std::string_view token) const {
  if (token.size() != 1) return std::nullopt;
  return static_cast<unsigned char>(token[0]);
}

void ByteTokenizer::append_ids(std::string_view text,
                               std::vector<int32_t>& ids) const {
  ids.reserve(ids.size() + text.size());
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
}

}  // namespace titan

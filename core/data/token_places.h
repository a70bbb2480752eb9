// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of a text each of its tokens stands for: what masks of whole
// texts need, so that a text is tokenised once and as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/chat/chat_template.h"
#include "core/tokenizer/tokenizer.h"

namespace titan {

/// Returns, per id of `ids` = encode(text, false, false), its bytes [begin,
/// end) of `text`: ascending, without a gap. White space that a token takes
/// along without writing it belongs to that token. Throws BadRecord where the
/// tokens' texts are not the text: the tokenizer changes it (lower case, for
/// example).
std::vector<chat::TextRange> find_token_places(const Tokenizer& tokenizer,
                                               std::span<const int32_t> ids,
                                               std::string_view text);

/// Whether decode leaves the token out where it skips special ones.
bool is_special_token(const Tokenizer& tokenizer, int32_t id);

}  // namespace titan

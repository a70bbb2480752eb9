// SPDX-License-Identifier: BSD-3-Clause
// tokenizer.json holds regular expressions for Oniguruma (its default,
// Ruby-like syntax); we run PCRE2. Where the two read a construct differently
// it is rewritten (\s: PCRE2 also takes U+180E) or, if that is impossible,
// refused: a pattern that merely compiles would give other ids without a word.
#pragma once

#include <string>
#include <string_view>

namespace titan {

/// Returns the PCRE2 (UTF, UCP) pattern with the meaning that `pattern` has in
/// Oniguruma. UserError naming the construct where there is no such pattern;
/// `where` is the message's tag.
std::string oniguruma_to_pcre2(std::string_view pattern,
                               const std::string& where);

}  // namespace titan

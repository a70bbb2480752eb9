// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/regex_dialect.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace {

std::string translate(std::string_view pattern) {
  return titan::oniguruma_to_pcre2(pattern, "test");
}

}  // namespace

TEST_CASE("constructs that mean the same are kept", "[unit]") {
  for (const char* same : {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})",
                           R"((?i:'s|'t)|a++b?+)",
                           R"((?!x)(?<=y)\d{2,}\.\-)",
                           R"(\x{4E00}\x41)"})
    CHECK(translate(same) == same);
}

TEST_CASE("constructs that differ are rewritten", "[unit]") {
  CHECK(translate(R"(\s+(?!\S))") == R"(\p{White_Space}+(?!\P{White_Space}))");
  CHECK(translate(R"([^\s\v])") == R"([^\p{White_Space}\x0b])");
  CHECK(translate(R"(\p{Han}\P{^Greek}\p{Lu})") ==
        R"(\p{sc:Han}\P{^sc:Greek}\p{Lu})");
  CHECK(translate(R"(\u00e9)") == R"(\x{00e9})");
}

TEST_CASE("constructs without an equal are refused by name", "[unit]") {
  for (const char* pattern :
       {"^a",      "a$",      R"(\w)",  R"(\b)",       R"(\h)",  R"(\1)",
        R"(\K)",   R"(\xff)", "[a[b]]", "[[:alpha:]]", "[a&&b]", "[]a]",
        "[a",      "a{,3}",   "a{2}+",  "a{b}",        "{",      "(?m:a)",
        "(?<n>a)", "(*UTF)",  R"(\pL)", R"(\x{g})",    "a\\"}) {
    INFO(pattern);
    CHECK_THROWS_WITH(
        translate(pattern),
        Catch::StartsWith("[test] regular expression is not supported: "));
  }
}

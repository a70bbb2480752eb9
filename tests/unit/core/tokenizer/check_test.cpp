// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/check.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/tokenizer/temporary_folder.h"

using titan::test::kData;

TEST_CASE("recorded tokenizers of five styles match", "[unit]") {
  for (const char* folder :
       {"llama3_bpe", "gpt2_bpe", "deepseek_bpe", "qwen_bpe", "spm_bpe"}) {
    const titan::TokenizerCheck check = titan::check_tokenizer(kData + folder);
    CHECK(check.num_cases == 35);
    CHECK(check.differences.empty());
  }
}

TEST_CASE("a difference is reported with case, field and values", "[unit]") {
  const titan::test::TemporaryFolder folder;
  folder.write("tokenizer.json",
               titan::test::read_file(kData + "llama3_bpe/tokenizer.json"));
  folder.write("cases.json",
               R"([{"text": " ", "ids": [220], "ids_special": [220],
                    "decoded": " ", "decoded_skip": " "}])");
  const titan::TokenizerCheck check = titan::check_tokenizer(folder.path());
  REQUIRE(check.differences.size() == 1);
  CHECK(check.differences[0] ==
        "case 0 ids_special: expected [220], got [2000,220]");
  CHECK(titan::check_tokenizer(folder.path() + "/tokenizer.json").num_cases ==
        1);
  folder.write("cases.json", "[]");
  CHECK_THROWS_WITH(titan::check_tokenizer(folder.path()),
                    Catch::Contains("has no cases"));
  folder.write("cases.json", R"([{"text": 1}])");
  CHECK_THROWS_WITH(titan::check_tokenizer(folder.path()),
                    Catch::Contains("case 0 cannot be read"));
}

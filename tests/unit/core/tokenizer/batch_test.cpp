// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/batch.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

using titan::test::kData;

TEST_CASE("a batch on threads equals its texts one by one", "[unit]") {
  const auto tokenizer = titan::load_tokenizer(kData + "llama3_bpe");
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i)
    texts.push_back(std::string(static_cast<size_t>(i % 7), ' ') +
                    "text number " + std::to_string(i * i) + "\n");
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  for (const int threads : {0, 1, 4, 1000}) {
    const auto batch = titan::encode_batch(
        *tokenizer, views, {.add_bos = true, .num_threads = threads});
    REQUIRE(batch.size() == texts.size());
    for (size_t i = 0; i < texts.size(); ++i)
      CHECK(batch[i] == tokenizer->encode(texts[i], true, false));
  }
  CHECK(titan::encode_batch(*tokenizer, {}).empty());
}

TEST_CASE("a batch reports the first text that is refused", "[unit]") {
  const auto tokenizer = titan::load_tokenizer(kData + "llama3_bpe");
  const std::vector<std::string_view> texts = {"good", "ab\xFF", "\xFF"};
  CHECK_THROWS_WITH(titan::encode_batch(*tokenizer, texts, {.num_threads = 3}),
                    Catch::Contains("not UTF-8: ill-formed byte at offset 2"));
  CHECK_THROWS_WITH(
      titan::encode_batch(*tokenizer, texts, {.num_threads = -1}),
      Catch::Contains("number of threads: expected 0 or more, got -1"));
}

// SPDX-License-Identifier: BSD-3-Clause
// The tokenizers as users load them: against `tokenizers`' ids, and the cases
// DAT-02 and DAT-05 about BOS and EOS.
#include "core/tokenizer/tokenizer.h"

#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;
using titan::load_tokenizer;
using titan::test::kData;
using titan::test::read_file;
using titan::test::TemporaryFolder;

const std::string kAssets = TITAN_SOURCE_DIR "/assets/";

Json llama3_json() {
  return Json::parse(read_file(kData + "llama3_bpe/tokenizer.json"));
}

std::unique_ptr<titan::Tokenizer> load(const Json& tokenizer,
                                       const Json& config) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json", config.dump());
  return load_tokenizer(folder.path());
}

}  // namespace

TEST_CASE("bytes tokenizer maps every byte to its value and back", "[unit]") {
  const auto tokenizer = load_tokenizer("bytes");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const Ids ids = tokenizer->encode(all, false, false);
  REQUIRE(ids.size() == 256);
  for (int byte = 0; byte < 256; ++byte) CHECK(ids[byte] == byte);
  CHECK(tokenizer->decode(ids) == all);
  CHECK(tokenizer->vocab_size() == 256);
  CHECK(tokenizer->accepts_any_bytes());
  CHECK_FALSE(tokenizer->bos_id());
  CHECK(tokenizer->decode(Ids{65, 300, -1}) == "A\uFFFD\uFFFD");
}

TEST_CASE("the sample text has the recorded number of tokens", "[unit]") {
  const auto tokenizer = load_tokenizer(kAssets + "tokenizer");
  const std::string text = read_file(kAssets + "tinyshakespeare/input.txt");
  const Ids ids = tokenizer->encode(text, false, false);
  CHECK(ids.size() == 357751);  // assets/README.md
  CHECK(tokenizer->decode(ids) == text);
  CHECK(tokenizer->vocab_size() == 2003);
}

TEST_CASE("hard texts get the ids of Hugging Face tokenizers", "[unit]") {
  const Json hard = Json::parse(read_file(kData + "hard_texts.json"));
  REQUIRE(hard.size() == 3);
  for (const auto& [folder, cases] : hard.items()) {
    const auto tokenizer = load_tokenizer(kData + folder);
    for (const Json& one : cases) {
      const std::string text = one["text"];
      INFO(folder << ": " << one["text"].dump());
      const Ids ids = tokenizer->encode(text, false, false);
      CHECK(ids == one["ids"].get<Ids>());
      CHECK(tokenizer->decode(ids) == text);
    }
  }
}

TEST_CASE("added tokens follow their flags as in tokenizers (DAT-03, DAT-04)",
          "[unit]") {
  Json file = llama3_json();
  const Json groups = Json::parse(read_file(kData + "added_tokens.json"));
  REQUIRE(groups.size() == 5);
  for (const Json& group : groups) {
    file["added_tokens"] = group["added_tokens"];
    const auto tokenizer = load(file, Json::object());
    for (const Json& one : group["cases"]) {
      INFO(one["text"].dump());
      CHECK(tokenizer->encode(one["text"].get<std::string>(), false, false) ==
            one["ids"].get<Ids>());
    }
  }
}

TEST_CASE("one token that is both BOS and EOS is added at both ends (DAT-02)",
          "[unit]") {
  const Json file = llama3_json();
  const Json spellings = {"<|end|>", {{"content", "<|end|>"}}};
  for (const Json& token : spellings) {
    const auto tokenizer =
        load(file, {{"bos_token", token}, {"eos_token", token}});
    CHECK(tokenizer->bos_id() == 2001);
    CHECK(tokenizer->eos_id() == 2001);
    const Ids a = tokenizer->encode("a", false, false);
    REQUIRE(a.size() == 1);
    CHECK(tokenizer->encode("a", true, true) == Ids{2001, a[0], 2001});
    CHECK(tokenizer->encode("", true, true) == Ids{2001, 2001});
    CHECK(tokenizer->encode("<|end|>", true, true) == Ids{2001, 2001});
  }
}

TEST_CASE("a missing EOS is an error where it is asked for (DAT-02)",
          "[unit]") {
  const Json file = llama3_json();
  const auto null =
      load(file, {{"bos_token", "<|begin|>"}, {"eos_token", nullptr}});
  CHECK_FALSE(null->eos_id());
  CHECK_THROWS_WITH(null->encode("a", true, true),
                    Catch::StartsWith("[tokenizer] add_eos needs an EOS"));
  // Missing keys: the template knows BOS, nothing knows EOS.
  const auto missing = load(file, Json::object());
  CHECK(missing->bos_id() == 2000);
  CHECK_THROWS_AS(missing->encode("a", false, true), titan::UserError);
  const auto no_bos = load(file, {{"bos_token", nullptr}});
  CHECK_THROWS_WITH(no_bos->encode("a", true, false),
                    Catch::StartsWith("[tokenizer] add_bos needs a BOS"));
}

TEST_CASE("each flag adds exactly its token, template or not (DAT-05)",
          "[unit]") {
  const auto tokenizer = load_tokenizer(kData + "llama3_bpe");
  const int bos = 2000, eos = 2001;
  CHECK(tokenizer->bos_id() == bos);
  CHECK(tokenizer->eos_id() == eos);
  const Ids a = tokenizer->encode("a", false, false);
  REQUIRE(a.size() == 1);
  CHECK(tokenizer->encode("a", true, false) == Ids{bos, a[0]});
  CHECK(tokenizer->encode("a", false, true) == Ids{a[0], eos});
  CHECK(tokenizer->encode("a", true, true) == Ids{bos, a[0], eos});
  // The text brings its own.
  const Ids both{bos, a[0], eos};
  CHECK(tokenizer->encode("<|begin|>a<|end|>", false, false) == both);
  CHECK(tokenizer->encode("<|begin|>a<|end|>", true, true) == both);
  CHECK(tokenizer->encode("<|begin|>", true, false) == Ids{bos});
  CHECK(tokenizer->encode_with_template("a") == Ids{bos, a[0]});
  CHECK(tokenizer->decode(both, true) == "a");
  CHECK(tokenizer->decode(both) == "<|begin|>a<|end|>");
}

TEST_CASE("text that is not UTF-8 is refused with its offset", "[unit]") {
  const auto tokenizer = load_tokenizer(kData + "llama3_bpe");
  CHECK_THROWS_WITH(tokenizer->encode("abc\xFF", false, false),
                    Catch::Contains("ill-formed byte at offset 3"));
}

TEST_CASE("decoding never fails on ids that no token has", "[unit]") {
  const auto tokenizer = load_tokenizer(kData + "llama3_bpe");
  CHECK(tokenizer->decode(Ids{-1, 2003, 1 << 30}) == "\uFFFD\uFFFD\uFFFD");
}

TEST_CASE("a word of a million letters is merged in n log n", "[unit]") {
  const auto tokenizer = load_tokenizer(kData + "llama3_bpe");
  const std::string text =
      std::string(1000000, 'a') + std::string(1000000, ' ');
  CHECK(tokenizer->decode(tokenizer->encode(text, false, false)) == text);
}

TEST_CASE("threads that share a tokenizer get the same ids", "[unit]") {
  const auto tokenizer = load_tokenizer(kAssets + "tokenizer");
  const std::string text =
      read_file(kAssets + "tinyshakespeare/input.txt").substr(0, 50000);
  const Ids expected = tokenizer->encode(text, true, true);
  std::vector<Ids> got(4);
  std::vector<std::thread> threads;
  for (Ids& ids : got)
    threads.emplace_back([&] { ids = tokenizer->encode(text, true, true); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : got) CHECK(ids == expected);
}

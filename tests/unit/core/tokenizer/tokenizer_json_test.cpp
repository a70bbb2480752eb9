// SPDX-License-Identifier: BSD-3-Clause
// tokenizer.json is untrusted: what is not implemented is named, and no file
// crashes the reader.
#include "core/tokenizer/tokenizer_json.h"

#include <random>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using Json = nlohmann::json;
using titan::test::read_file;
using titan::test::TemporaryFolder;

const std::string kLlama3 =
    TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/llama3_bpe";

// A complete tokenizer of 256 bytes, one merge and one special token.
Json small_json() {
  Json file = Json::parse(read_file(kLlama3 + "/tokenizer.json"));
  Json vocab;
  for (const auto& [token, id] : file["model"]["vocab"].items())
    if (id < 256) vocab[token] = id;
  vocab["he"] = 256;
  file["model"]["vocab"] = vocab;
  file["model"]["merges"] = Json::array({Json::array({"h", "e"})});
  file["added_tokens"] = Json::array({file["added_tokens"][0]});
  file["added_tokens"][0]["id"] = 257;
  file["post_processor"]["special_tokens"]["<|begin|>"]["ids"] = {257};
  return file;
}

std::string tokenizer_json_error(const std::string& bytes) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", bytes);
  try {
    titan::load_tokenizer(folder.path());
  } catch (const titan::UserError& error) {
    return error.what();
  }
  return "loaded";
}

std::string message_with(const std::string& pointer, const Json& value) {
  Json file = small_json();
  file[Json::json_pointer(pointer)] = value;
  return tokenizer_json_error(file.dump());
}

}  // namespace

TEST_CASE("a component that is not implemented is refused by name", "[unit]") {
  REQUIRE(tokenizer_json_error(small_json().dump()) == "loaded");
  const std::vector<std::tuple<std::string, Json, std::string>> cases = {
      {"/model/type",
       "Novel",
       "model.type] not implemented: this model, got \"Novel\""},
      {"/model/dropout",
       0.1,
       "model.dropout] not implemented: merging with dropout, got 0.1"},
      {"/model/novelty", 1, "model.novelty] not implemented: this key, got 1"},
      {"/normalizer",
       {{"type", "NFX"}},
       "normalizer.type] not implemented: this normalizer, got \"NFX\""},
      {"/normalizer",
       {{"type", "NFC"}, {"novelty", 1}},
       "normalizer.novelty] not implemented"},
      {"/truncation",
       {{"max_length", 5}},
       "truncation] not implemented: cutting texts off, got object"},
      {"/padding", {{"pad_id", 5}}, "padding] not implemented"},
      {"/version", "2.0", "version] not implemented"},
      {"/pre_tokenizer",
       {{"type", "Novel"}},
       "pre_tokenizer.type] not implemented: this pre-tokenizer"},
      {"/pre_tokenizer/pretokenizers/0/behavior",
       "Merged",
       "pre_tokenizer.pretokenizers[0].behavior] expected Removed, Isolated, "
       "MergedWithPrevious, MergedWithNext or Contiguous, got \"Merged\""},
      {"/pre_tokenizer/pretokenizers/0/pattern",
       {{"Glob", "*"}},
       "pattern.Glob] not implemented: this key"},
      {"/post_processor",
       {{"type", "Novel"}},
       "post_processor.type] not implemented: this post-processor"},
      {"/decoder",
       {{"type", "Novel"}},
       "decoder.type] not implemented: this decoder, got \"Novel\""},
      {"/novelty",
       1,
       "tokenizer.json: novelty] not implemented: this key, got 1"}};
  for (const auto& [pointer, value, expected] : cases) {
    INFO(pointer);
    CHECK_THAT(message_with(pointer, value), Catch::Contains(expected));
  }
}

TEST_CASE("a wrong reference or type in tokenizer.json is an error", "[unit]") {
  const std::vector<std::tuple<std::string, Json, std::string>> cases = {
      {"/model/vocab/he",
       -1,
       "model.vocab.he] expected an integer from 0 to 4194303, got -1"},
      {"/model/vocab/he", 1ull << 40, "got 1099511627776"},
      {"/model/vocab/he", ~0ull, "got 18446744073709551615"},
      {"/model/vocab/he", 255, "expected an id that no other token has"},
      {"/model/vocab/he", "x", "got \"x\""},
      {"/model/vocab/he", 1.5, "got 1.5"},
      {"/model/vocab", Json::object({{"a", 0}}), "tokens of the vocabulary"},
      {"/model/merges/0",
       {"h", "q"},
       "model.merges[0]] merge: expected tokens of the vocabulary, got hq"},
      {"/model/merges/0", "h e e", "expected two tokens and one space"},
      {"/model/merges/0", {"h"}, "expected two tokens, got array"},
      {"/model/merges", 3, "model.merges] expected an array, got 3"},
      {"/added_tokens/0/id",
       3,
       "added_tokens[0].id] expected 257 (the next free id), got 3"},
      {"/added_tokens/0/content", "", "a text that is not empty, got \"\""},
      {"/added_tokens/0/content",
       "he",
       "expected 256 (the token's in model.vocab), got 257"},
      {"/added_tokens/0/lstrip", "no", "expected true or false, got \"no\""},
      {"/post_processor/special_tokens",
       Json::object(),
       "expected a name of special_tokens, got \"<|begin|>\""},
      {"/post_processor/special_tokens/<|begin|>/ids",
       {-900},
       "from 0 to 4194303, got -900"},
      {"/post_processor/special_tokens/<|begin|>/ids",
       {900},
       "post_processor] id of a special token: expected that of a token, got "
       "900"},
      {"/pre_tokenizer/pretokenizers/0/pattern/Regex",
       "(a",
       "does not compile"},
      {"/pre_tokenizer/pretokenizers/0/pattern/Regex",
       "a*",
       "can match the empty text"}};
  for (const auto& [pointer, value, expected] : cases) {
    INFO(pointer << " = " << value.dump());
    CHECK_THAT(message_with(pointer, value), Catch::Contains(expected));
  }
}

TEST_CASE("both spellings of merges give the same tokenizer", "[unit]") {
  CHECK(message_with("/model/merges/0", "h e") == "loaded");
}

TEST_CASE("files that are missing or not JSON are named", "[unit]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(titan::load_tokenizer(folder.path()),
                    Catch::Contains("no tokenizer.json in " + folder.path()));
  CHECK_THAT(tokenizer_json_error("{"),
             Catch::Contains("tokenizer.json] JSON text"));
  CHECK_THAT(tokenizer_json_error("[]"),
             Catch::Contains("expected an object, got array"));
  CHECK_THAT(tokenizer_json_error(std::string(200000, '[')),
             Catch::Contains("nesting of at most"));
  folder.write("tokenizer.json", small_json().dump());
  folder.write("tokenizer_config.json", R"({"eos_token": "<|nowhere|>"})");
  CHECK_THROWS_WITH(titan::load_tokenizer(folder.path()),
                    Catch::Contains("eos_token] no such token: <|nowhere|>"));
  folder.write("tokenizer_config.json",
               R"({"added_tokens_decoder": {"9": {"content": "<|begin|>"}}})");
  CHECK_THROWS_WITH(titan::load_tokenizer(folder.path()),
                    Catch::Contains("token 9 is not the one"));
}

TEST_CASE("damaged tokenizer.json loads or is refused, seed 7", "[unit]") {
  const std::string good = small_json().dump();
  const TemporaryFolder folder;
  std::mt19937 random(7);
  int num_loaded = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bytes = good;
    for (int edit = 0; edit <= round % 3; ++edit) {
      // Half of the edits near the end, where the structure is.
      const size_t range = round % 2 ? bytes.size() : 1500;
      const size_t at = bytes.size() - 1 - random() % range;
      if (random() % 2)
        bytes[at] = static_cast<char>(random());
      else
        bytes.erase(at, random() % 40);
    }
    folder.write("tokenizer.json", bytes);
    try {
      const auto tokenizer = titan::load_tokenizer(folder.path());
      const auto ids =
          tokenizer->encode("hello <|begin|> \u00e9", false, false);
      for (const int32_t id : ids) REQUIRE(id < tokenizer->vocab_size());
      ++num_loaded;
    } catch (const titan::UserError&) {  // The other right answer.
    }
  }
  CHECK(num_loaded > 0);
  CHECK(num_loaded < 600);
}

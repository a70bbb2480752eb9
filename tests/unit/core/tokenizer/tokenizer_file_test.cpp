// SPDX-License-Identifier: BSD-3-Clause
// tokenizer.json is untrusted: what is not implemented is named, and no file
// crashes the reader.
#include "core/tokenizer/tokenizer_file.h"

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

std::string message_for(const std::string& bytes) {
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
  return message_for(file.dump());
}

}  // namespace

TEST_CASE("a component that is not implemented is refused by name", "[unit]") {
  REQUIRE(message_for(small_json().dump()) == "loaded");
  const std::vector<std::tuple<std::string, Json, std::string>> cases = {
      {"/model/type",
       "Unigram",
       "model] this component is not implemented: "
       "Unigram"},
      {"/model/dropout", 0.1, "not implemented: dropout"},
      {"/model/byte_fallback", true, "not implemented: byte_fallback"},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix"},
      {"/model/novelty", 1, "not implemented: key novelty"},
      {"/normalizer",
       {{"type", "NFC"}},
       "normalizer] this component is not "
       "implemented: NFC"},
      {"/truncation", {{"max_length", 5}}, "truncation"},
      {"/pre_tokenizer", nullptr, "none (byte-level BPE needs ByteLevel)"},
      {"/pre_tokenizer", {{"type", "Whitespace"}}, "Whitespace"},
      {"/pre_tokenizer/pretokenizers/0/behavior",
       "Removed",
       "Split with behavior Removed"},
      {"/pre_tokenizer/pretokenizers/0/invert", true, "Split with invert"},
      {"/pre_tokenizer/pretokenizers/1/add_prefix_space",
       true,
       "add_prefix_space"},
      {"/post_processor", {{"type", "BertProcessing"}}, "BertProcessing"},
      {"/decoder",
       {{"type", "Metaspace"}},
       "decoder] this component is not "
       "implemented: Metaspace"},
      {"/decoder", nullptr, "decoder] this component is not implemented: null"},
      {"/novelty",
       1,
       "top level] this component is not implemented: key "
       "novelty"}};
  for (const auto& [pointer, value, expected] : cases) {
    INFO(pointer);
    CHECK_THAT(message_with(pointer, value), Catch::Contains(expected));
  }
}

TEST_CASE("a wrong reference or type in tokenizer.json is an error", "[unit]") {
  const std::vector<std::tuple<std::string, Json, std::string>> cases = {
      {"/model/vocab/he", -1, "token id: expected 0 to 16777215, got -1"},
      {"/model/vocab/he", 1ull << 40, "got 1099511627776"},
      {"/model/vocab/he", 255, "token id is used twice: 255"},
      {"/model/vocab/he", "x", "expected a token id, got string"},
      {"/model/vocab", Json::object({{"a", 0}}), "no such token"},
      {"/model/merges/0", {"h", "q"}, "no such token: hq"},
      {"/model/merges/0", "h e e", "expected two tokens and one space"},
      {"/model/merges", 3, "expected an array, got number"},
      {"/added_tokens/0/id", 3, "token id is used twice: 3"},
      {"/added_tokens/0/content", "", "content is the empty text"},
      {"/added_tokens/0/content", "he", "expected 256 (model.vocab), got 257"},
      {"/added_tokens/0/lstrip", "no", "expected true or false, got string"},
      {"/post_processor/special_tokens",
       Json::object(),
       "expected an object, got null"},
      {"/post_processor/special_tokens/<|begin|>/ids",
       {900},
       "no token has this id: 900"},
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
  Json file = small_json();
  file["model"]["vocab"].erase("!");
  CHECK_THAT(message_for(file.dump()),
             Catch::Contains("there is none for byte 33"));
}

TEST_CASE("both spellings of merges give the same tokenizer", "[unit]") {
  CHECK(message_with("/model/merges/0", "h e") == "loaded");
}

TEST_CASE("files that are missing or not JSON are named", "[unit]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(titan::load_tokenizer(folder.path()),
                    Catch::Contains("no tokenizer.json in " + folder.path()));
  CHECK_THAT(message_for("{"), Catch::Contains("tokenizer.json] not JSON"));
  CHECK_THAT(message_for("[]"), Catch::Contains("expected a JSON object"));
  CHECK_THAT(message_for(std::string(200000, '[')),
             Catch::Contains("not JSON"));
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

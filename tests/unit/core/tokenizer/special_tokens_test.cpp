// SPDX-License-Identifier: BSD-3-Clause
// Tokens with a role, in every form that the two files use.
#include "core/tokenizer/special_tokens.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using titan::test::read_file;
using titan::test::TemporaryFolder;

const std::string kTokenizerFolder =
    TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/llama3_bpe";

std::string special_tokens_error(const std::string& name,
                                 const std::string& bytes) {
  const TemporaryFolder folder;
  folder.write(name, bytes);
  try {
    titan::read_special_tokens(folder.path());
  } catch (const titan::UserError& error) {
    return error.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("a role is a string, an object, null or absent", "[unit]") {
  const TemporaryFolder folder;
  CHECK_FALSE(titan::read_special_tokens(folder.path()).bos);
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "pad_token": null,
                   "eos_token": {"__type": "AddedToken", "content": "</s>"},
                   "additional_special_tokens": ["<a>", {"content": "<b>"}],
                   "add_bos_token": true})");
  const titan::SpecialTokens special =
      titan::read_special_tokens(folder.path());
  CHECK(special.bos->content == "<s>");
  CHECK(special.eos->content == "</s>");
  CHECK_FALSE(special.pad);
  CHECK_FALSE(special.unk);
  CHECK(special.additional.size() == 2);
  CHECK(special.additional[1].content == "<b>");
  CHECK(special.add_bos_token == true);
  CHECK_FALSE(special.add_eos_token.has_value());
}

TEST_CASE("the map decides beside an old config only", "[unit]") {
  const TemporaryFolder folder;
  folder.write("special_tokens_map.json",
               R"({"bos_token": "<map>", "pad_token": "<pad>"})");
  folder.write("tokenizer_config.json", R"({"bos_token": "<config>"})");
  const auto old = titan::read_special_tokens(folder.path());
  CHECK(old.bos->content == "<map>");
  CHECK(old.pad->content == "<pad>");
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<config>", "added_tokens_decoder": {}})");
  const auto current = titan::read_special_tokens(folder.path());
  CHECK(current.bos->content == "<config>");
  CHECK_FALSE(current.pad);
}

TEST_CASE("a loaded tokenizer knows ids of roles and of texts", "[unit]") {
  const TemporaryFolder folder;
  folder.write("tokenizer.json",
               read_file(kTokenizerFolder + "/tokenizer.json"));
  folder.write("tokenizer_config.json",
               R"({"bos_token": null, "eos_token": {"content": "<|end|>"},
                   "unk_token": "<nowhere>",
                   "extra_special_tokens": {"image_token": "<|img|>"},
                   "added_tokens_decoder":
                     {"2003": {"content": "<|img|>", "special": true}}})");
  const auto tokenizer = titan::load_tokenizer(folder.path());
  const titan::SpecialTokens& special = tokenizer->special_tokens();
  CHECK_FALSE(special.bos);
  CHECK(special.eos->id == 2001);
  CHECK(special.unk->content == "<nowhere>");
  CHECK_FALSE(special.unk->id);
  CHECK(special.additional.at(0).id == 2003);
  CHECK(tokenizer->token_id("<|begin|>") == 2000);
  CHECK_FALSE(tokenizer->token_id("<nowhere>"));
  CHECK(tokenizer->vocab_size() == 2004);
  CHECK(tokenizer->encode("<|img|>", false, false) ==
        std::vector<int32_t>{2003});
  CHECK(tokenizer->decode(std::vector<int32_t>{2003}, true).empty());
}

TEST_CASE("a malformed role names file, path and value", "[unit]") {
  CHECK_THAT(
      special_tokens_error("tokenizer_config.json", R"({"bos_token": 3})"),
      Catch::Contains("tokenizer_config.json: bos_token] expected a "
                      "string or an object with content, got 3"));
  CHECK_THAT(
      special_tokens_error("special_tokens_map.json", R"({"eos_token": {}})"),
      Catch::Contains("special_tokens_map.json: eos_token.content] "
                      "expected a string, got nothing"));
  CHECK_THAT(special_tokens_error("tokenizer_config.json",
                                  R"({"added_tokens_decoder": {"-1": "a"}})"),
             Catch::Contains("added_tokens_decoder[\"-1\"]] token id: "
                             "expected 0 to 4194303, got -1"));
  CHECK_THAT(
      special_tokens_error("tokenizer_config.json", R"({"add_bos_token": 1})"),
      Catch::Contains("add_bos_token] expected true or false, got 1"));
  CHECK_THAT(special_tokens_error("tokenizer_config.json", "[1]"),
             Catch::Contains("expected an object, got array"));
  CHECK_THAT(
      special_tokens_error("tokenizer_config.json",
                           std::string(100, '[') + std::string(100, ']')),
      Catch::Contains("nesting of at most 32"));
  CHECK_THAT(
      special_tokens_error("tokenizer_config.json", R"({"a": 1, "a": 2})"),
      Catch::Contains("tokenizer_config.json] JSON text: expected each key "
                      "once"));
}

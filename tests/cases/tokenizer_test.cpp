// SPDX-License-Identifier: BSD-3-Clause
// What users report about tokenizers: special tokens lost, doubled or with
// spaces left over, and order of operations.
#include "core/tokenizer/tokenizer.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer_json.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace titan::cases {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

const std::string kData = TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/";

std::unique_ptr<Tokenizer> read_json(const Json& json) {
  return read_tokenizer_json(JsonFile("tokenizer.json", json.dump()),
                             TokenizerConfig{});
}

Json added(int id, const char* content, Json flags) {
  flags["id"] = id;
  flags["content"] = content;
  return flags;
}

// Words of one letter and words that the case needs; "?" for all others.
Json word_level(Json added_tokens) {
  Json vocab = {{"?", 0}, {"yes", 1}, {"noon", 2}, {"x", 3}, {"a", 4}};
  return {
      {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "?"}}},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"added_tokens", std::move(added_tokens)}};
}

std::unique_ptr<Tokenizer> with_config(const std::string& config) {
  const test::TemporaryFolder folder;
  folder.write(
      "tokenizer.json",
      word_level({added(5, "<|endoftext|>", {{"special", true}})}).dump());
  folder.write("tokenizer_config.json", config);
  return load_tokenizer(folder.path());
}

}  // namespace

// Case DAT-02: one token for both ends is still both ends.
TEST_CASE("a token that is BOS and EOS is put at both ends") {
  for (const char* token :
       {R"("<|endoftext|>")", R"({"content": "<|endoftext|>"})"}) {
    const auto tokenizer = with_config(
        text(R"({"bos_token": )", token, R"(, "eos_token": )", token, "}"));
    CHECK(tokenizer->bos_id() == 5);
    CHECK(tokenizer->eos_id() == 5);
    CHECK(tokenizer->encode("a", true, true) == Ids{5, 4, 5});
  }
  for (const char* eos : {"", R"(, "eos_token": null)"}) {
    const auto tokenizer =
        with_config(text(R"({"bos_token": "<|endoftext|>")", eos, "}"));
    CHECK_THROWS_WITH(tokenizer->encode("a", true, true),
                      Catch::Matchers::Contains("add_eos needs an EOS token"));
  }
}

// Case DAT-03: spaces around a special token belong to it, where it says so.
TEST_CASE("lstrip and rstrip take the spaces around a token along") {
  Json json = Json::parse(test::read_file(kData + "llama3_bpe/tokenizer.json"));
  json["added_tokens"].push_back(added(
      2003, "<|s|>", {{"lstrip", true}, {"rstrip", true}, {"special", true}}));
  json["added_tokens"].push_back(added(2004, "<|e|>", {{"special", true}}));
  const auto tokenizer = read_json(json);
  Ids expected = {2003, 2004};
  for (const int32_t id : tokenizer->encode("   x", false, false))
    expected.push_back(id);
  CHECK(tokenizer->encode("   <|s|> <|e|>   x", false, false) == expected);
}

// Case DAT-04: raw tokens are found before, normalised ones after the
// normalizer.
TEST_CASE("added tokens are searched before or after lower casing") {
  Json json = word_level(
      {added(5, "YES", {{"normalized", false}}),
       added(6, "no", {{"normalized", true}, {"single_word", true}})});
  json["normalizer"] = {{"type", "Lowercase"}};
  const auto tokenizer = read_json(json);
  CHECK(tokenizer->encode("yes YES NO no", false, false) == Ids{1, 5, 6, 6});
  CHECK(tokenizer->encode("noon", false, false) == Ids{2});
}

// Case DAT-05: EOS does not cost the BOS, and nothing comes twice.
TEST_CASE("flags put exactly the tokens that they ask for") {
  Json json = word_level({added(5, "<s>", {{"special", true}}),
                          added(6, "</s>", {{"special", true}})});
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
        {{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}}}},
      {"pair", Json::array()},
      {"special_tokens",
       {{"<s>", {{"id", "<s>"}, {"ids", {5}}, {"tokens", {"<s>"}}}},
        {"</s>", {{"id", "</s>"}, {"ids", {6}}, {"tokens", {"</s>"}}}}}}};
  const auto tokenizer = read_json(json);
  CHECK(tokenizer->bos_id() == 5);
  CHECK(tokenizer->eos_id() == 6);
  CHECK(tokenizer->encode("a", false, false) == Ids{4});
  CHECK(tokenizer->encode("a", true, false) == Ids{5, 4});
  CHECK(tokenizer->encode("a", false, true) == Ids{4, 6});
  CHECK(tokenizer->encode("a", true, true) == Ids{5, 4, 6});
  CHECK(tokenizer->encode("<s> a </s>", true, true) == Ids{5, 4, 6});
  CHECK(tokenizer->encode_with_template("a") == Ids{5, 4, 6});
}

// Case DAT-20: where two references disagree, ids are those of `tokenizers`:
// its Precompiled looks at graphemes and takes the shortest match, so
// decomposed Hangul of nine bytes goes character by character.
TEST_CASE("decomposed Hangul goes through a character map as in tokenizers") {
  for (const Json& variant :
       Json::parse(test::read_file(kData + "variants.json"))) {
    if (variant["name"] != "xlmr") continue;
    const auto tokenizer = read_json(variant["tokenizer"]);
    const Ids whole =
        tokenizer->encode("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", false, false);
    CHECK(whole == Ids{3, 67, 61, 72});
    return;
  }
  FAIL("no variant xlmr");
}

// Case DAT-20: a post-processor's add_prefix_space, which is true where nothing
// is said, is about offsets and puts no space before a text.
TEST_CASE("byte-level texts get no space that add_prefix_space denies") {
  Json json = {
      {"model",
       {{"type", "BPE"},
        {"vocab",
         {{"\xC4\xA0", 0},
          {"a", 1},
          {"\xC4\xA0"
           "a",
           2}}},
        {"merges", {"\xC4\xA0 a"}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"post_processor", {{"type", "ByteLevel"}}}};
  const auto tokenizer = read_json(json);
  CHECK(tokenizer->encode("a", false, false) == Ids{1});
  CHECK(tokenizer->encode(" a", false, false) == Ids{2});
  CHECK(tokenizer->encode("  a", false, false) == Ids{0, 2});
  json["pre_tokenizer"]["add_prefix_space"] = true;
  const auto prefixing = read_json(json);
  CHECK(prefixing->encode("a", false, false) == Ids{2});
  CHECK(prefixing->encode(" a", false, false) == Ids{2});
}

}  // namespace titan::cases

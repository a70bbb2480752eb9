// SPDX-License-Identifier: BSD-3-Clause
// Files that somebody made to hurt: each is refused by a message that names
// what is wrong, and none crashes (the ASan build runs this too).
#include <random>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/charsmap.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using Json = nlohmann::json;
using titan::test::kData;
using titan::test::read_file;
using titan::test::TemporaryFolder;

std::string message_for(const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  folder.write(name, bytes);
  try {
    const auto tokenizer = titan::load_tokenizer(folder.path());
    const auto ids = tokenizer->encode("a b \xC3\xA9", false, false);
    for (const int32_t id : ids) REQUIRE(id < tokenizer->vocab_size());
    tokenizer->decode(ids);
  } catch (const titan::UserError& error) {
    return error.what();
  }
  return "loaded";
}

std::string json_with(const std::string& pointer, const Json& value) {
  Json file = {{"model",
                {{"type", "WordLevel"},
                 {"vocab", {{"a", 0}, {"b", 1}, {"[UNK]", 2}}},
                 {"unk_token", "[UNK]"}}}};
  file[Json::json_pointer(pointer)] = value;
  return file.dump();
}

// Protobuf by hand: a field of kind bytes.
std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out.push_back(static_cast<char>(bytes.size()));
  return out + bytes;
}

std::string number(int field_number, unsigned char value) {
  return {static_cast<char>(field_number << 3), static_cast<char>(value)};
}

std::string piece(const std::string& text, unsigned char kind) {
  return field(1, field(1, text) + number(3, kind));
}

const std::string kGoodPieces =
    piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece("a", 1);

}  // namespace

TEST_CASE("hostile tokenizer.json files are refused by name", "[unit]") {
  CHECK(message_for("tokenizer.json", json_with("/decoder", nullptr)) ==
        "loaded");
  const std::string deep = R"({"normalizer":)" + std::string(100000, '[');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "JSON text: expected JSON, got a syntax error"},
      {"{", "syntax error at byte"},
      {R"({"model": {"type": "BPE", "vocab": {"a)", "syntax error"},
      {deep, "nesting of at most 32"},
      {std::string("{\"a\": \"\xFF\"}"), "syntax error"},
      {R"({"model": "\ud800"})", "syntax error"},
      {R"({"model": {"vocab": {"a": 0, "a": 1}}})", "each key once"},
      {json_with("/model/vocab/a", -5), "model.vocab.a] expected an integer"},
      {json_with("/model/vocab/a", 1e300), "got 1e+300"},
      {json_with("/model/vocab/a", 1), "an id that no other token has"},
      {json_with("/model/vocab", Json::array()), "expected an object"},
      {json_with("/model/unk_token", "nowhere"), "vocabulary has no nowhere"},
      {json_with("/model", nullptr), "expected a model"},
      {json_with("/added_tokens", {{{"id", 1ull << 60}, {"content", "x"}}}),
       "added_tokens[0].id] expected an integer from 0 to 4194303"},
      {json_with("/added_tokens", {3}), "expected an added token"},
      {json_with("/pre_tokenizer", {{"type", "FixedLength"}, {"length", 0}}),
       "length] expected an integer from 1"},
      {json_with("/pre_tokenizer",
                 {{"type", "CharDelimiterSplit"}, {"delimiter", "ab"}}),
       "expected one character, got \"ab\""},
      {json_with("/pre_tokenizer",
                 {{"type", "Split"},
                  {"pattern", {{"Regex", "((a+)+)+$"}}},
                  {"behavior", "Isolated"},
                  {"invert", false}}),
       "pattern.Regex] regular expression is not supported"},
      {json_with("/normalizer",
                 {{"type", "Replace"},
                  {"pattern", {{"String", ""}}},
                  {"content", "x"}}),
       "a text that is not empty"},
      {json_with("/normalizer",
                 {{"type", "Sequence"}, {"normalizers", {nullptr}}}),
       "normalizers[0]] expected a normalizer"},
      {json_with("/normalizer",
                 {{"type", "Precompiled"}, {"precompiled_charsmap", "AA*A"}}),
       "precompiled_charsmap] base64: expected a character of the alphabet, "
       "got byte 42 at offset 2"},
      {json_with("/normalizer",
                 {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAAA"}}),
       "a length that is not 1 modulo 4"},
      {json_with("/normalizer",
                 {{"type", "Precompiled"}, {"precompiled_charsmap", "AAA="}}),
       "character map: expected at least 4 bytes, got 2"},
      {json_with(
           "/normalizer",
           {{"type", "Precompiled"}, {"precompiled_charsmap", "/////wAAAAA="}}),
       "size of the trie: expected a multiple of 4 from 4 to 4, got "
       "4294967295"},
      {json_with("/decoder", {{"type", "BPEDecoder"}, {"suffix", ""}}),
       "suffix] expected a text that is not empty"},
      {json_with(
           "/post_processor",
           {{"type", "BertProcessing"}, {"sep", {"x", 99}}, {"cls", {"y", 0}}}),
       "id of a special token: expected that of a token, got 99"}};
  for (const auto& [bytes, expected] : cases) {
    INFO(bytes.substr(0, 200));
    CHECK_THAT(message_for("tokenizer.json", bytes), Catch::Contains(expected));
  }
}

TEST_CASE("hostile SentencePiece files are refused by name", "[unit]") {
  CHECK(message_for("tokenizer.model", kGoodPieces) == "loaded");
  const std::string overflow =
      std::string("\x0A") + std::string(9, '\xFF') + "\x01";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x0A", "protobuf: message is cut off at byte 1"},
      {kGoodPieces.substr(0, kGoodPieces.size() - 1),
       "protobuf: field 1 at byte "},
      {overflow, "expected at most the 0 bytes that follow, got "},
      {std::string("\x0A") + std::string(11, '\x80'),
       "number: expected at most 10 bytes"},
      {kGoodPieces + "\x0B", "wire type at byte "},
      {kGoodPieces + std::string(1, '\0'), "field number at byte "},
      {kGoodPieces + piece("b", 9), "pieces[4]] type: expected 1 to 6, got 9"},
      {kGoodPieces + piece("b", 5), "not implemented: a piece of type UNUSED"},
      {kGoodPieces + piece("a", 1), "pieces[4]] expected each text once"},
      {kGoodPieces + piece("\xFF", 1), "expected a text in UTF-8"},
      {kGoodPieces + piece("", 1), "that is not empty, got 0 bytes"},
      {kGoodPieces + field(1, field(1, "b") + field(2, "xxxx")),
       "field 2: expected a float, got wire type 2"},
      {kGoodPieces +
           field(1, field(1, "b") + "\x15" + std::string("\0\0\xC0\x7F", 4)),
       "score: expected a finite number"},
      {piece("a", 1), "expected one of type UNKNOWN, got none among 1"},
      {kGoodPieces + field(2, number(3, 4)),
       "trainer_spec.model_type] not implemented: expected 1 (unigram) or 2"},
      {kGoodPieces + field(2, "\xC8\x02\x07"),
       "id of a special piece: expected less than 4, got 7"},
      {kGoodPieces + field(3, field(2, "abc")),
       "normalizer_spec] character map: expected at least 4 bytes, got 3"},
      {kGoodPieces + field(5, field(2, "abcd")),
       "denormalizer_spec] not implemented"}};
  for (const auto& [bytes, expected] : cases) {
    INFO(expected);
    CHECK_THAT(message_for("tokenizer.model", bytes),
               Catch::Contains(expected));
  }
}

TEST_CASE("hostile rank files are refused by name", "[unit]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"IQ==", "tokenizer.model:1] expected a token in base64, a space and"},
      {"IQ== x\n", "rank: expected 0 to 4194303, got x"},
      {"IQ== -1\n", "got -1"},
      {"IQ== 99999999999999999999\n", "got 99999999999999999999"},
      {"I!== 0\n", "base64: expected a character of the alphabet"},
      {"I 0\n", "a length that is not 1 modulo 4"},
      {"IQ== 0\nIg== 0\n",
       "tokenizer.model:2] expected each token and each "
       "rank once and no empty token, got rank 0"},
      {"IQ== 0\nIQ== 1\n", "tokenizer.model:2] expected each token"},
      {" 0\n", "no empty token"},
      {"IQ== 0\n", "there is none for byte 0"},
      {"", "there is none for byte 0"}};
  for (const auto& [bytes, expected] : cases) {
    INFO(bytes);
    CHECK_THAT(message_for("tokenizer.model", bytes),
               Catch::Contains(expected));
  }
}

TEST_CASE("a trie that points anywhere is followed with care, seed 5",
          "[unit]") {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string blob = {'\x40', 0, 0, 0};
    for (int i = 0; i < 0x40 + 9; ++i)
      blob.push_back(static_cast<char>(random() % 3 ? random() % 4 : random()));
    for (char& byte : blob)
      if (&byte >= blob.data() + 0x44) byte = static_cast<char>(byte & 0x7F);
    const titan::Charsmap map(blob, "[test]");
    map.normalize_graphemes("ab\x01\x02 \xC3\xA9 e\xCC\x81");
    CHECK(map.longest_prefix("\x01\x02\x03").second > 0);
  }
}

TEST_CASE("damaged model files load or are refused, seed 9", "[unit]") {
  std::mt19937 random(9);
  for (const char* name :
       {"bpe.model", "unigram_bytes.model", "ranks.tiktoken"}) {
    const std::string good = read_file(kData + "models/" + name);
    int num_loaded = 0;
    for (int round = 0; round < 200; ++round) {
      std::string bytes = good;
      for (int edit = 0; edit <= round % 3; ++edit) {
        const size_t at = random() % bytes.size();
        if (random() % 2)
          bytes[at] = static_cast<char>(random());
        else
          bytes.erase(at, random() % 20);
      }
      num_loaded += message_for("tokenizer.model", bytes) == "loaded";
    }
    INFO(name << ": " << num_loaded);
    CHECK(num_loaded < 200);
  }
}

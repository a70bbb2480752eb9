// SPDX-License-Identifier: BSD-3-Clause
// SentencePiece models and tiktoken's ranks against what their own libraries
// gave (data/make_models.py).
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/named_patterns.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using Json = nlohmann::json;
using titan::load_tokenizer;
using titan::test::read_file;
using titan::test::TemporaryFolder;

const std::string kModels =
    TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/models/";

std::string model_error(const std::string& spec) {
  try {
    load_tokenizer(spec);
  } catch (const titan::UserError& error) {
    return error.what();
  }
  return "loaded";
}

}  // namespace

TEST_CASE("SentencePiece and tiktoken files agree with their own libraries",
          "[unit]") {
  const Json models = Json::parse(read_file(kModels + "models.json"));
  CHECK(models.size() == 10);
  for (const Json& model : models) {
    const auto tokenizer =
        load_tokenizer(kModels + model["spec"].get<std::string>());
    for (const Json& one : model["cases"]) {
      INFO(model["spec"] << ": " << one["text"].dump());
      const std::string text = one["text"];
      CHECK(Json(tokenizer->encode(text, false, false)) == one["ids"]);
      const std::vector<int32_t> ids = one["ids"];
      CHECK(titan::to_valid_utf8(tokenizer->decode(ids, true)) ==
            one["decoded"]);
    }
  }
}

TEST_CASE("a SentencePiece model knows its special tokens", "[unit]") {
  const auto tokenizer = load_tokenizer(kModels + "bpe.model");
  CHECK(tokenizer->bos_id() == 1);
  CHECK(tokenizer->eos_id() == 2);
  CHECK(tokenizer->special_tokens().unk->content == "<unk>");
  CHECK_FALSE(tokenizer->special_tokens().pad);
  // Text does not spell control pieces unless the config adds them.
  CHECK(tokenizer->encode("<s>", false, false).size() > 1);
  CHECK(tokenizer->decode(std::vector<int32_t>{1}) == "<s>");
  CHECK(tokenizer->decode(std::vector<int32_t>{1}, true).empty());
  const TemporaryFolder folder;
  folder.write("tokenizer.model", read_file(kModels + "bpe.model"));
  folder.write("tokenizer_config.json",
               R"({"add_bos_token": true, "added_tokens_decoder":
                   {"1": {"content": "<s>", "special": true}}})");
  const auto configured = load_tokenizer(folder.path());
  CHECK(configured->encode("<s>", false, false) == std::vector<int32_t>{1});
  CHECK(configured->encode_with_template("") == std::vector<int32_t>{1});
}

TEST_CASE("a rank file goes by the pattern that is chosen or named", "[unit]") {
  const std::string ranks = kModels + "ranks.tiktoken";
  CHECK_THAT(model_error(ranks), Catch::Contains("ranks.tiktoken#llama3"));
  CHECK_THAT(model_error(ranks + "#novel"),
             Catch::Contains("expected gpt2, cl100k, llama3, qwen2, o200k, "
                             "got novel"));
  const TemporaryFolder folder;
  const std::string named =
      folder.write("my_cl100k.tiktoken", read_file(ranks));
  CHECK(model_error(named) == "loaded");
  const auto tokenizer = load_tokenizer(named);
  CHECK(tokenizer->vocab_size() == 460);
  CHECK_FALSE(tokenizer->eos_id());
  folder.write("tokenizer.model", read_file(ranks));
  CHECK(model_error(folder.path()) == "loaded");
  CHECK_THAT(model_error(kModels + "bpe.model#llama3"),
             Catch::Contains("expected no pattern after '#', got llama3"));
}

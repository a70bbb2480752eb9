// SPDX-License-Identifier: BSD-3-Clause
// Every component of tokenizer.json against ids and texts that Hugging Face
// `tokenizers` gave (data/make_variants.py), by both implementations.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer_json.h"
#include "core/tokenizer/utf8.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using Json = nlohmann::json;
using titan::TokenizerChoice;

void check_variant(const Json& variant, TokenizerChoice choice) {
  const titan::JsonFile file(variant["name"], variant["tokenizer"].dump());
  const auto tokenizer =
      titan::read_tokenizer_json(file, titan::TokenizerConfig{}, choice);
  for (const Json& one : variant["cases"]) {
    INFO(variant["name"] << ": " << one["text"].dump());
    const std::string text = one["text"];
    CHECK(Json(tokenizer->encode(text, false, false)) == one["ids"]);
    CHECK(Json(tokenizer->encode_with_template(text)) == one["ids_special"]);
  }
  for (const Json& one : variant["decodes"]) {
    INFO(variant["name"] << ": " << one["ids"].dump());
    const std::vector<int32_t> ids = one["ids"];
    CHECK(titan::to_valid_utf8(tokenizer->decode(ids)) == one["text"]);
    CHECK(titan::to_valid_utf8(tokenizer->decode(ids, true)) ==
          one["text_skip"]);
  }
}

}  // namespace

TEST_CASE("all components of tokenizer.json agree with the reference",
          "[unit]") {
  const Json variants = Json::parse(titan::test::read_file(
      TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/variants.json"));
  CHECK(variants.size() == 79);
  for (const Json& variant : variants) {
    check_variant(variant, TokenizerChoice::kFastest);
    check_variant(variant, TokenizerChoice::kPipeline);
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// `titan tokenizer ...` from arguments to what is printed.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/core/cli/captured_run.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

using titan::cli::CapturedRun;
using titan::cli::run_captured;

namespace {

using titan::test::TemporaryFolder;

const std::string kData = TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/";
const std::string kLlama3 = kData + "llama3_bpe";

}  // namespace

TEST_CASE("tokenizer encode and decode are inverse", "[unit]") {
  const CapturedRun encoded = run_captured(
      {"tokenizer", "encode", kLlama3, "Hello world", "--bos", "--eos"});
  CHECK(encoded.exit_code == 0);
  CHECK(encoded.out == "2000 39 415 78 879 2001\n");
  const CapturedRun decoded = run_captured(
      {"tokenizer", "decode", kLlama3, "2000", "39", "415", "78", "879"});
  CHECK(decoded.out == "<|begin|>Hello world\n");
  const CapturedRun plain = run_captured(
      {"tokenizer", "decode", kLlama3, "--skip-special", "2000", "39"});
  CHECK(plain.out == "H\n");
}

TEST_CASE("tokenizer encode reads a file and prints JSON", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "hi\n");
  const CapturedRun outcome =
      run_captured({"tokenizer", "encode", "bytes", "--file", path, "--json"});
  CHECK(outcome.exit_code == 0);
  CHECK(nlohmann::json::parse(outcome.out) ==
        nlohmann::json{{"num_tokens", 3}, {"ids", {104, 105, 10}}});
  CHECK_THAT(
      run_captured({"tokenizer", "encode", "bytes", "x", "--file", path}).err,
      Catch::Contains("got both"));
  CHECK_THAT(run_captured({"tokenizer", "encode", "bytes"}).err,
             Catch::Contains("got neither"));
  CHECK(run_captured({"tokenizer", "encode", "bytes", ""}).out == "\n");
  CHECK(run_captured({"tokenizer", "encode", "bytes", "--file", path + "x"})
            .exit_code == 2);
}

TEST_CASE("tokenizer check exits 0 if all cases match and 1 if any differs",
          "[unit]") {
  const CapturedRun good = run_captured({"tokenizer", "check", kLlama3});
  CHECK(good.exit_code == 0);
  CHECK(good.out == "35 cases, 0 differences\n");
  const TemporaryFolder folder;
  folder.write("tokenizer.json",
               titan::test::read_file(kLlama3 + "/tokenizer.json"));
  folder.write("cases.json",
               R"([{"text": " ", "ids": [220], "ids_special": [2000, 220],
                    "decoded": "?", "decoded_skip": " "}])");
  const CapturedRun bad = run_captured({"tokenizer", "check", folder.path()});
  CHECK(bad.exit_code == 1);
  CHECK(bad.out ==
        "case 0 decoded: expected \"?\", got \" \"\n1 cases, 1 differences\n");
}

TEST_CASE("tokenizer errors name the file and exit 2", "[unit]") {
  const CapturedRun outcome =
      run_captured({"tokenizer", "check", "no/such/folder"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err,
             Catch::Contains("no tokenizer.json in no/such/folder"));
}

TEST_CASE("tokenizer render prints the text that the model sees", "[unit]") {
  const TemporaryFolder folder;
  const std::string chat =
      folder.write("chat.json",
                   R"([{"role": "user", "content": "To be?"},
      {"role": "assistant", "content": "Not."}])");
  const std::string assets = TITAN_SOURCE_DIR "/assets/";
  const std::vector<std::string> render = {
      "tokenizer",
      "render",
      assets + "tokenizer",
      "--messages",
      chat,
      "--template",
      assets + "dialogues/chat_template.jinja"};
  const CapturedRun plain = run_captured(render);
  CHECK(plain.exit_code == 0);
  CHECK(plain.out ==
        "<|begin|>[user]\nTo be?<|end|>\n[assistant]\nNot.<|end|>\n");

  std::vector<std::string> masked = render;
  masked.push_back("--mask");
  const std::string lines = run_captured(masked).out;
  CHECK_THAT(lines, Catch::Contains(" * \".\"\n2001 * \"<|end|>\"\n"));
  CHECK_THAT(lines, Catch::Contains("2000   \"<|begin|>\"\n"));
  CHECK_THAT(lines, Catch::Contains("tokens are learnt"));

  std::vector<std::string> prompt = render;
  prompt.insert(prompt.end(), {"--add-generation-prompt", "--json"});
  const auto json = nlohmann::json::parse(run_captured(prompt).out);
  CHECK_THAT(json["text"].get<std::string>(),
             Catch::EndsWith("<|end|>\n[assistant]\n"));
  CHECK(json["ids"][0] == 2000);

  const CapturedRun none = run_captured(
      {"tokenizer", "render", assets + "tokenizer", "--messages", chat});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Catch::Contains("there is no chat template"));
}

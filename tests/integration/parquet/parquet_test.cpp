// SPDX-License-Identifier: BSD-3-Clause
// Training on Parquet files: texts, conversations, ids; stopped and resumed;
// and what the program says of files that are not as they should be.
#include <catch2/catch.hpp>

#include "tests/integration/data_run.h"

using namespace titan::integration;
using Catch::Contains;

namespace {

std::string fixture(const std::string& name) {
  return TITAN_SOURCE_DIR "/tests/unit/plugins/datasets/parquet/data/" + name +
         ".parquet";
}

Settings data_of(const std::string& file, const std::string& config = "{}") {
  return {"data.use=titan.parquet",
          "data.files=[" + file + "]",
          "data.config=" + config,
          "data.shuffle_buffer=500"};
}

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

}  // namespace

TEST_CASE("a run on Parquet files goes on in the same bits", "[integration]") {
  check_resumes_bit_identically(data_of(fixture("pages")));
}

TEST_CASE("Parquet files give 1, 2 and 4 data ranks in turn the same samples",
          "[integration]") {
  check_ranks_in_turn(data_of(fixture("pages")));
  check_ranks_in_turn(
      {"data.sources=[{use: titan.parquet, files: [" + fixture("layouts") +
           "], config: {text: string_view}}, {use: jsonl, files: "
           "[\"${recipe_dir}/lines.jsonl\"]}]",
       "data.files=null",
       "data.packing=best_fit"});
}

TEST_CASE("a null in a Parquet column follows on_bad_line", "[integration]") {
  const TinyRun run;
  const Settings data = data_of(fixture("text"));
  const Finished refused = run.train(data);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             Contains("text.parquet: row group 0, row 3: [data] column text is "
                      "null. Repair it or set data.on_bad_line: skip"));
  const Finished skipped = run.train(with(data, {"data.on_bad_line=skip"}));
  CHECK(skipped.exit_code == 0);
  CHECK_THAT(skipped.err, Contains("1 bad records"));
}

TEST_CASE("Parquet files of conversations are learnt as chat is",
          "[integration]") {
  const TinyRun run;
  const Settings data = with(data_of(fixture("chat"), "{messages: [messages]}"),
                             {"data.on_bad_line=skip",
                              "data.packing=none",
                              "training.seq_len=64",
                              "training.tokens_per_microbatch=64",
                              "data.chat.template=${recipe_dir}/chat.jinja"});
  put_file(run.folder() / "chat.jinja",
           "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
           "{% if add_generation_prompt %}assistant:{% endif %}");
  const Finished trained = run.train(data);
  INFO(trained.err);
  CHECK(trained.exit_code == 0);
  // The second conversation's answer has weight 0.
  CHECK_THAT(trained.err, Contains("without anything to learn"));
  std::vector<std::string> words = {
      "data", "inspect", run.recipe().string(), "--rows", "1"};
  for (const std::string& setting : data) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  CHECK_THAT(run_titan_process(words).out,
             Contains("+ places 24..29") && Contains("\":Hello\""));
}

TEST_CASE("ids of a Parquet file must be the model's", "[integration]") {
  const TinyRun run;
  const Finished refused =
      run.train(data_of(fixture("lists"), "{tokens: list_int32}"));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             Contains("token id 65000") &&
                 Contains("lists.parquet: row group 1, row 0"));
  const Finished trained =
      run.train(with(data_of(fixture("lists"), "{tokens: list_int32}"),
                     {"model.config.vocab_size=65001"}));
  INFO(trained.err);
  CHECK(trained.exit_code == 0);
}

TEST_CASE("Parquet files that cannot be read say so before any work",
          "[integration]") {
  const TinyRun run;
  const auto validate = [&](const Settings& data) {
    std::vector<std::string> words = {"validate", run.recipe().string()};
    for (const std::string& setting : data) {
      words.emplace_back("--set");
      words.push_back(setting);
    }
    const Finished finished = run_titan_process(words);
    CHECK(finished.exit_code == 2);
    return finished.err;
  };
  CHECK_THAT(validate(data_of(fixture("text"), "{text: body}")),
             Contains("expected one of (id, text, when), got body"));
  CHECK_THAT(validate(data_of(fixture("text"), "{text: a, tokens: b}")),
             Contains("[data.config] columns of titan.parquet: expected one"));
  CHECK_THAT(validate(data_of(fixture("text"), "{column: a}")),
             Contains("[data.config.column] unknown key"));
  const std::string whole = get_file(fixture("text"));
  const auto cut = run.folder() / "cut.parquet";
  put_file(cut, whole.substr(0, whole.size() / 2));
  CHECK_THAT(validate(data_of(cut.string())),
             Contains("cut.parquet] Parquet file cannot be read"));
  put_file(cut, "");
  CHECK_THAT(validate(data_of(cut.string())), Contains("file is empty"));
  CHECK_THAT(run.train(data_of(fixture("no_rows"))).err,
             Contains("[data.files] no training data in"));
}

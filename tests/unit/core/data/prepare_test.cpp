// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/prepare.h"

#include <catch2/catch.hpp>
#include <omp.h>

#include <titan/error.h>

#include "core/data/read_report.h"
#include "core/data/token_file.h"
#include "tests/unit/core/data/data_test.h"

namespace {

using Catch::Contains;
using titan::test::jsonl_of;
using titan::test::kShakespeare;
using titan::test::kTokenizer;
using titan::test::read_file;
using titan::test::TemporaryFolder;

struct Prepared {
  titan::PrepareProgress progress;
  std::map<std::string, std::string> files;  // name -> bytes
};

class Stop {};

// `stop_after` blocks the work is cut off, as by a kill.
Prepared prepare(const titan::PrepareOptions& options,
                 const titan::Tokenizer& tokenizer,
                 int stop_after = -1) {
  const auto mapper = titan::make_text_mapper(tokenizer, false, true);
  titan::ReadReport report(titan::OnBadRecord::kSkip);
  Prepared prepared;
  int blocks = 0;
  prepared.progress =
      titan::prepare_tokens(options,
                            *mapper,
                            tokenizer.vocab_size(),
                            report,
                            titan::checkpoint::real_file_system(),
                            [&](const titan::PrepareProgress&) {
                              if (++blocks == stop_after) throw Stop();
                            });
  for (const auto& entry : std::filesystem::directory_iterator(options.folder))
    prepared.files[entry.path().filename().string()] =
        read_file(entry.path().string());
  return prepared;
}

}  // namespace

TEST_CASE("prepared text has the tokens of the text itself", "[unit]") {
  const TemporaryFolder folder;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  titan::PrepareOptions options;
  options.files = {kShakespeare};
  options.folder = folder.path() + "/deep/out";
  const Prepared prepared = prepare(options, *tokenizer);
  const titan::TokenFile file(options.folder + "/tokens_00000.bin");
  std::vector<int32_t> ids;
  file.read(0, file.num_tokens(), ids);
  CHECK(ids == tokenizer->encode(read_file(kShakespeare), false, true));
  CHECK(file.num_documents() == 1);
  CHECK(prepared.progress.num_tokens == file.num_tokens());
}

TEST_CASE("prepared files do not depend on the number of threads", "[unit]") {
  const TemporaryFolder folder;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  const int usual = omp_get_max_threads();
  for (const std::string use : {"text", "jsonl"}) {
    titan::PrepareOptions options;
    options.use = use;
    for (int i = 0; i < 8; ++i) {
      const std::string lines = jsonl_of(60, 40, "d" + std::to_string(i));
      options.files.push_back(
          folder.write(use + std::to_string(i) + ".x", lines));
    }
    options.tokens_per_file = 1500;
    std::map<int, Prepared> by_threads;
    for (const int threads : {1, 4}) {
      omp_set_num_threads(threads);
      options.folder = folder.path() + "/" + use + std::to_string(threads);
      by_threads[threads] = prepare(options, *tokenizer);
    }
    CHECK(by_threads[1].progress.num_files >= 3);
    CHECK(by_threads[1].files == by_threads[4].files);
  }
  omp_set_num_threads(usual);
}

TEST_CASE("preparing that was stopped ends in the same files", "[unit]") {
  const TemporaryFolder folder;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  titan::PrepareOptions options;
  options.use = "jsonl";
  for (int i = 0; i < 6; ++i)
    options.files.push_back(
        folder.write(std::to_string(i) + ".jsonl",
                     jsonl_of(50, 40, "d" + std::to_string(i)) + "bad\n"));
  options.tokens_per_file = 1500;
  options.folder = folder.path() + "/straight";
  const Prepared straight = prepare(options, *tokenizer);
  CHECK(straight.progress.num_files >= 3);
  CHECK(straight.progress.num_documents == 300);
  options.folder = folder.path() + "/stopped";
  for (const int stop_after : {1, 2, 3})
    CHECK_THROWS_AS(prepare(options, *tokenizer, stop_after), Stop);
  const Prepared stopped = prepare(options, *tokenizer);
  CHECK(stopped.files == straight.files);
  CHECK(prepare(options, *tokenizer, 1).files == straight.files);  // No work.
}

TEST_CASE("a prepared folder of other data, or damaged, is refused", "[unit]") {
  const TemporaryFolder folder;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  const auto bytes = titan::load_tokenizer("bytes");
  titan::PrepareOptions options;
  options.files = {folder.write("a.txt", "some text")};
  options.folder = folder.path() + "/out";
  prepare(options, *tokenizer);
  options.files = {folder.write("b.txt", "other text")};
  CHECK_THROWS_WITH(prepare(options, *tokenizer), Contains("other data"));
  options.files = {folder.path() + "/a.txt"};
  const std::string file = options.folder + "/tokens_00000.bin";
  titan::check_prepared_with(
      file, titan::make_text_mapper(*tokenizer, false, true)->fingerprint());
  CHECK_THROWS_WITH(
      titan::check_prepared_with(
          file, titan::make_text_mapper(*bytes, false, false)->fingerprint()),
      Contains("another tokenizer"));
  std::string damaged = read_file(file);
  damaged[17] ^= 1;
  folder.write("out/tokens_00000.bin", damaged);
  CHECK_THROWS_WITH(prepare(options, *tokenizer), Contains("checksum differs"));
}

TEST_CASE("a run on prepared tokens sees what preparing wrote", "[unit]") {
  const TemporaryFolder folder;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  titan::PrepareOptions prepared;
  prepared.use = "jsonl";
  prepared.files = {folder.write("a.jsonl", jsonl_of(40, 16))};
  prepared.folder = folder.path() + "/out";
  const auto progress = prepare(prepared, *tokenizer).progress;
  titan::DataOptions options =
      titan::test::options_for(prepared.folder, "tokens");
  options.add_eos = true;
  options.sources[0].epochs = 1;
  titan::test::Ranks ranks(options, 2, *tokenizer);
  while (!ranks.has_ended()) ranks.step(1);
  CHECK(ranks.num_valid() == progress.num_tokens - 40);
}

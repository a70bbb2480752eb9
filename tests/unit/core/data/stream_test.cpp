// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/stream.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using titan::DataOptions;
using titan::DataStream;
using titan::kNoTarget;
using titan::Microbatch;
using titan::Split;
using titan::test::read_file;
using titan::test::TemporaryFolder;
using Row = std::vector<int64_t>;

const std::string kShakespeare =
    TITAN_SOURCE_DIR "/assets/tinyshakespeare/input.txt";
const std::string kTokenizer = TITAN_SOURCE_DIR "/assets/tokenizer";

DataOptions options_for(const std::string& file) {
  DataOptions options;
  options.files = {file};
  options.tokenizer = "bytes";
  options.seq_len = 16;
  options.tokens_per_microbatch = 64;
  options.seed = 5;
  return options;
}

// 4,000 distinct rows would do; digits make every row of 16 bytes unlike.
std::string counted_text(int num_rows) {
  std::string text;
  for (int i = 0; i < num_rows; ++i) {
    const std::string number = std::to_string(i);
    text += std::string(16 - number.size(), '.') + number;
  }
  return text;
}

Row row_of(const Microbatch& batch, int64_t slot, int64_t seq_len) {
  const auto begin = batch.tokens.begin() + slot * seq_len;
  return Row(begin, begin + seq_len);
}

std::vector<Row> take_rows(DataStream& stream, int num_batches) {
  std::vector<Row> rows;
  Microbatch batch;
  for (int i = 0; i < num_batches && stream.next(batch); ++i)
    for (int slot = 0; slot < 4; ++slot)
      rows.push_back(row_of(batch, slot, 16));
  return rows;
}

bool same(const Microbatch& a, const Microbatch& b) {
  return a.tokens == b.tokens && a.labels == b.labels &&
         a.loss_weight == b.loss_weight && a.doc_id == b.doc_id &&
         a.cu_seqlens == b.cu_seqlens && a.positions == b.positions &&
         a.global_index == b.global_index && a.n_valid == b.n_valid;
}

}  // namespace

TEST_CASE("an epoch visits every row once, in an order of its own", "[unit]") {
  const TemporaryFolder folder;
  DataStream stream(options_for(folder.write("a.txt", counted_text(40))));
  REQUIRE(stream.rows_per_epoch() == 40);
  auto first = take_rows(stream, 10);
  CHECK(stream.epoch() == 1);
  auto second = take_rows(stream, 10);
  CHECK(first != second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}

TEST_CASE("without shuffle rows come in file order", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", counted_text(9)));
  options.shuffle = false;
  DataStream stream(options);
  const auto rows = take_rows(stream, 3);
  const std::string text = counted_text(9);
  for (int i = 0; i < 12; ++i)
    CHECK(std::string(rows[i].begin(), rows[i].end()) ==
          text.substr(i % 9 * 16, 16));
}

TEST_CASE("a restored stream goes on bit for bit, mid-epoch (DAT-22)",
          "[unit]") {
  DataOptions options = options_for(kShakespeare);
  options.tokenizer = kTokenizer;
  options.seq_len = 128;
  options.tokens_per_microbatch = 1024;
  options.tokens_per_step = 4096;
  options.dp_world = 2;
  options.dp_rank = 1;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  DataStream stream(options, *tokenizer);
  Microbatch batch;
  // 2,794 rows an epoch: 401 microbatches of 2 x 8 rows are in the third.
  for (int i = 0; i < 401; ++i) REQUIRE(stream.next(batch));
  CHECK(stream.epoch() == 2);
  const std::string state = stream.state();
  DataStream resumed(options, *tokenizer);
  resumed.restore(state);
  CHECK(resumed.state() == state);
  Microbatch other;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(stream.next(batch));
    REQUIRE(resumed.next(other));
    REQUIRE(same(batch, other));
  }
}

TEST_CASE("ranks are disjoint, cover the order, and agree with one rank",
          "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", counted_text(100)));
  options.tokens_per_step = 4 * 64;
  DataStream one(options);
  std::vector<Microbatch> expected(8);
  for (Microbatch& batch : expected) REQUIRE(one.next(batch));
  CHECK(expected[3].global_index.front() == 192);
  CHECK(expected[4].global_index.front() == 0);
  for (const int world : {2, 4}) {
    options.dp_world = world;
    for (int rank = 0; rank < world; ++rank) {
      options.dp_rank = rank;
      DataStream stream(options);
      Microbatch batch;
      for (int k = 0; k < 8 / world; ++k) {
        REQUIRE(stream.next(batch));
        CHECK(same(batch, expected[k * world + rank]));
      }
      CHECK(stream.state() == one.state());
    }
  }
}

TEST_CASE("a run continues with another number of ranks", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", counted_text(100)));
  DataStream one(options);
  Microbatch batch, expected;
  for (int i = 0; i < 6; ++i) REQUIRE(one.next(batch));
  const std::string state = one.state();
  REQUIRE(one.next(expected));
  REQUIRE(one.next(expected));
  options.dp_world = 2;
  options.dp_rank = 1;
  DataStream two(options);
  two.restore(state);
  REQUIRE(two.next(batch));
  CHECK(same(batch, expected));
  options.dp_world = 4;
  DataStream four(options);
  CHECK_THROWS_WITH(four.restore(state),
                    Catch::Contains("expected a multiple of 16 rows, got 24"));
}

TEST_CASE("a state of other data or options is refused", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", counted_text(50)));
  DataStream stream(options);
  const std::string state = stream.state();
  const auto message = [&](const DataOptions& changed) {
    DataStream other(changed);
    try {
      other.restore(state);
    } catch (const titan::UserError& error) {
      return std::string(error.what());
    }
    return std::string("restored");
  };
  CHECK(message(options) == "restored");
  DataOptions changed = options;
  changed.seed = 6;
  CHECK_THAT(message(changed),
             Catch::Contains("seed: expected 5 (saved), got 6"));
  changed = options;
  changed.seq_len = 32;
  CHECK_THAT(message(changed), Catch::Contains("seq_len"));
  std::string other_text = counted_text(50);
  other_text[100] = 'x';
  changed = options;
  changed.files = {folder.write("b.txt", other_text)};
  CHECK_THAT(message(changed), Catch::Contains("digest"));
  CHECK_THROWS_AS(stream.restore("nonsense"), titan::UserError);
  CHECK_THROWS_AS(stream.restore("{}"), titan::UserError);
}

TEST_CASE("epochs end the stream with whole steps of padding", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", counted_text(9)));
  options.epochs = 2;
  options.dp_world = 2;
  options.tokens_per_step = 256;
  int64_t num_valid = 0;
  for (options.dp_rank = 0; options.dp_rank < 2; ++options.dp_rank) {
    DataStream stream(options);
    // 18 rows = 4.5 microbatches, so two steps of four: four for each rank.
    CHECK(stream.num_microbatches() == 4);
    Microbatch batch;
    for (int i = 0; i < 4; ++i) {
      REQUIRE(stream.next(batch));
      num_valid += batch.n_valid;
      CHECK(batch.cu_seqlens.back() == 64);
    }
    CHECK_FALSE(stream.next(batch));
    stream.rewind();
    CHECK(stream.next(batch));
  }
  CHECK(num_valid == 2 * (9 * 16 - 1));
}

TEST_CASE("the end of one text file is held out, as nanoGPT does", "[unit]") {
  DataOptions options = options_for(kShakespeare);
  options.validation_fraction = 0.1;
  const std::string text = read_file(kShakespeare);
  const DataStream train(options);
  CHECK(train.num_tokens() == 1003854);  // nanoGPT's shakespeare_char
  options.split = Split::kValidation;
  DataStream validation(options);
  CHECK(validation.num_tokens() == 111540);
  std::string joined;
  Microbatch batch;
  while (validation.next(batch))
    joined.append(batch.tokens.begin(), batch.tokens.end());
  joined.resize(validation.num_tokens());
  CHECK(joined == text.substr(1003854));
}

TEST_CASE("validation counts each token that has a next one exactly once",
          "[unit]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 300; ++i)
    lines += "{\"text\":\"" + std::string(1 + i % 37, 'a' + i % 26) +
             std::to_string(i) + "\"}\n";
  DataOptions options = options_for(folder.write("a.jsonl", lines));
  options.use = "jsonl";
  options.validation_fraction = 0.25;
  const DataStream train(options);
  options.split = Split::kValidation;
  for (const int world : {1, 3}) {
    options.dp_world = world;
    int64_t num_valid = 0, num_batches = -1, num_tokens = 0, num_documents = 0;
    for (options.dp_rank = 0; options.dp_rank < world; ++options.dp_rank) {
      DataStream stream(options);
      Microbatch batch;
      int64_t taken = 0;
      for (; stream.next(batch); ++taken) {
        num_valid += batch.n_valid;
        for (size_t t = 0; t < batch.labels.size(); ++t) {
          REQUIRE((batch.labels[t] == kNoTarget) ==
                  (batch.loss_weight[t] == 0));
          const auto s = static_cast<size_t>(batch.doc_id[t]);
          REQUIRE(batch.cu_seqlens[s] + batch.positions[t] ==
                  static_cast<int32_t>(t));
        }
      }
      CHECK((num_batches < 0 || taken == num_batches));
      num_batches = taken;
      num_tokens = stream.num_tokens();
      num_documents = stream.num_documents();
    }
    CHECK(num_valid == num_tokens - num_documents);
    CHECK(train.num_documents() + num_documents == 300);
    // 0.25 of 300 with 5 sigma of slack.
    CHECK(std::abs(num_documents - 75) <= 38);
  }
}

TEST_CASE("a cut never splits a character", "[unit]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 101; ++i) text += "\U0001F600";
  DataOptions options = options_for(folder.write("a.txt", text));
  options.tokenizer = kTokenizer;
  options.seq_len = options.tokens_per_microbatch = 4;
  for (const double fraction : {0.1, 0.33, 0.5, 0.77}) {
    options.validation_fraction = fraction;
    options.split = Split::kTrain;
    const DataStream train(options);
    options.split = Split::kValidation;
    const DataStream validation(options);
    CHECK(train.num_tokens() + validation.num_tokens() ==
          static_cast<int64_t>(titan::load_tokenizer(kTokenizer)
                                   ->encode(text, false, false)
                                   .size()));
  }
}

TEST_CASE("validation files replace the fraction", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", counted_text(5)));
  options.validation_files = {folder.write("b.txt", "held out")};
  CHECK(DataStream(options).num_tokens() == 80);
  options.split = Split::kValidation;
  CHECK(DataStream(options).num_tokens() == 8);
}

TEST_CASE("documents are wrapped in BOS and EOS where asked", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(
      folder.write("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n"));
  options.use = "jsonl";
  options.tokenizer = kTokenizer;
  options.shuffle = false;
  options.add_bos = options.add_eos = true;
  options.seq_len = options.tokens_per_microbatch = 6;
  DataStream stream(options);
  Microbatch batch;
  REQUIRE(stream.next(batch));
  CHECK(batch.tokens == Row{2000, 64, 2001, 2000, 65, 2001});
  CHECK(batch.labels == Row{64, 2001, kNoTarget, 65, 2001, kNoTarget});
  options.tokenizer = "bytes";
  CHECK_THROWS_WITH(DataStream(options),
                    Catch::Contains("add_bos needs a BOS token"));
}

TEST_CASE("data that cannot be used is refused with the reason", "[unit]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.txt", "0123456789\xff abcdefghij");
  DataOptions options = options_for(file);
  CHECK(DataStream(options).num_tokens() == 22);
  CHECK_THROWS_WITH(DataStream(options).check_vocab(255),
                    Catch::Contains("token id 255") &&
                        Catch::Contains("at least 256, got 255"));
  CHECK_NOTHROW(DataStream(options).check_vocab(256));
  options.tokenizer = kTokenizer;
  CHECK_THROWS_WITH(DataStream(options),
                    Catch::StartsWith("[" + file + "] text is not UTF-8") &&
                        Catch::Contains("offset 10"));
  options.tokenizer = "bytes";
  options.seq_len = options.tokens_per_microbatch = 23;
  CHECK_THROWS_WITH(DataStream(options),
                    Catch::Contains("expected at least 23 tokens, got 22"));
}

TEST_CASE("options that contradict each other are refused by key", "[unit]") {
  const DataOptions good = options_for("a.txt");
  const auto message = [&](auto&& change) {
    DataOptions options = good;
    change(options);
    try {
      titan::check_options(options);
    } catch (const titan::UserError& error) {
      return std::string(error.what());
    }
    return std::string("good");
  };
  using O = DataOptions&;
  const auto starts = [](const char* tag) { return Catch::StartsWith(tag); };
  CHECK(message([](O) {}) == "good");
  CHECK_THAT(message([](O o) { o.use = "csv"; }), starts("[data.use]"));
  CHECK_THAT(message([](O o) { o.files = {}; }), starts("[data.files]"));
  CHECK_THAT(message([](O o) { o.seq_len = 0; }), starts("[data.seq_len]"));
  CHECK_THAT(message([](O o) { o.seq_len = 10; }),
             starts("[data.tokens_per_microbatch]"));
  CHECK_THAT(message([](O o) { o.tokens_per_step = 100; }),
             starts("[data.tokens_per_step]"));
  CHECK_THAT(message([](O o) { o.dp_rank = 1; }), starts("[data] dp_rank"));
  CHECK_THAT(message([](O o) { o.validation_fraction = 1; }),
             starts("[data.validation_fraction]"));
  CHECK_THAT(message([](O o) { o.split = Split::kValidation; }),
             starts("[data] there is no validation data"));
  CHECK_THAT(message([](O o) { o.on_bad_line = "ignore"; }),
             starts("[data.on_bad_line]"));
  CHECK_THAT(message([](O o) { o.epochs = -1; }), starts("[data.epochs]"));
  CHECK_THAT(message([](O o) {
               o.validation_fraction = 0.1;
               o.validation_files = {"b.txt"};
             }),
             starts("[data.validation_files]"));
}

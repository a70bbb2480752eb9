// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/stream.h"

#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/data/data_test.h"

namespace {

using Catch::Contains;
using titan::DataOptions;
using titan::DataStream;
using titan::kNoTarget;
using titan::Microbatch;
using titan::Split;
using titan::test::jsonl_of;
using titan::test::kShakespeare;
using titan::test::kTokenizer;
using titan::test::options_for;
using titan::test::Ranks;
using titan::test::read_file;
using titan::test::SeenRow;
using titan::test::TemporaryFolder;

const auto kBytes = titan::load_tokenizer("bytes");

// All of the ways in which state can be held: cut documents, open rows, two
// sources of unlike lengths, several epochs, shuffled blocks.
std::vector<DataOptions> unlike_options(const TemporaryFolder& folder) {
  DataOptions plain =
      options_for(folder.write("a.jsonl", jsonl_of(200, 23)), "jsonl");
  plain.tokens_per_step = 256;
  DataOptions fitted = plain;
  fitted.packing = "best_fit";
  fitted.sources.push_back(
      {.use = "jsonl",
       .files = {folder.write("b.jsonl", jsonl_of(300, 5, "e"))},
       .weight = 0.5});
  DataOptions alone = plain;
  alone.packing = "none";
  DataOptions text = options_for(kShakespeare);
  text.tokens_per_step = 256;
  return {plain, fitted, alone, text};
}

}  // namespace

// The bar of resuming: 40 steps at once are 13 + 13 + 14, bit for bit.
TEST_CASE("a run stopped twice has the rows of one that was not (DAT-22)",
          "[unit]") {
  const TemporaryFolder folder;
  for (DataOptions options : unlike_options(folder)) {
    INFO(options.packing << ' ' << options.sources.size());
    Ranks straight(options, 2, *kBytes);
    std::vector<std::vector<SeenRow>> expected;
    for (int i = 0; i < 40; ++i) expected.push_back(straight.step(2));
    std::string state;
    int step = 0;
    for (const int steps : {13, 13, 14}) {
      options.num_threads = step % 3;  // Never changes a row.
      Ranks ranks(options, 2, *kBytes);
      if (!state.empty()) ranks.restore(state);
      for (int i = 0; i < steps; ++i, ++step)
        REQUIRE(ranks.step(2) == expected[step]);
      state = ranks.state();
    }
    CHECK(state == straight.state());
  }
}

TEST_CASE("one, two and four ranks in turn see the samples of one", "[unit]") {
  const TemporaryFolder folder;
  for (const DataOptions& options : unlike_options(folder)) {
    Ranks straight(options, 1, *kBytes);
    std::string state;
    for (const int world : {1, 2, 4, 1}) {
      Ranks ranks(options, world, *kBytes);
      if (!state.empty()) ranks.restore(state);
      for (int i = 0; i < 7; ++i)
        REQUIRE(ranks.step(4 / world) == straight.step(4));
      state = ranks.state();
    }
  }
}

TEST_CASE("a mark goes back within the process", "[unit]") {
  const TemporaryFolder folder;
  DataStream stream(unlike_options(folder)[1], *kBytes);
  Microbatch batch;
  for (int i = 0; i < 9; ++i) stream.next(batch);
  const titan::DataMark mark = stream.mark();
  stream.next(batch);
  const auto expected = batch.tokens;
  for (int i = 0; i < 5; ++i) stream.next(batch);
  stream.restore(mark);
  stream.next(batch);
  CHECK(batch.tokens == expected);
}

TEST_CASE("an epoch holds every document once, on every number of lanes",
          "[unit]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.jsonl", jsonl_of(100, 16));
  for (const int64_t lanes : {1, 8, 64, 96}) {
    DataOptions options = options_for(file, "jsonl");
    options.num_lanes = lanes;
    options.sources[0].epochs = 2;
    Ranks ranks(options, lanes > 1 ? 2 : 1, *kBytes);
    const auto seen = ranks.count_texts();
    CHECK(seen.size() == 100);
    for (const auto& [text, count] : seen) CHECK(count == 2);
    CHECK(ranks.num_valid() == 2 * 100 * 15);
  }
}

TEST_CASE("lanes with fewer documents than lanes use all documents alike",
          "[unit]") {
  const TemporaryFolder folder;
  DataOptions options =
      options_for(folder.write("a.jsonl", jsonl_of(5, 16)), "jsonl");
  options.num_lanes = 64;
  Ranks ranks(options, 1, *kBytes);
  std::map<std::string, int> seen;
  for (int i = 0; i < 200; ++i)
    for (const SeenRow& row : ranks.step(1)) ++seen[row.texts().front()];
  REQUIRE(seen.size() == 5);
  for (const auto& [text, count] : seen) CHECK(std::abs(count - 160) <= 32);
}

TEST_CASE("each epoch has an order of its own, and a seed another", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options =
      options_for(folder.write("a.jsonl", jsonl_of(64, 16)), "jsonl");
  options.num_lanes = 1;
  const auto order = [&](Ranks& ranks) {
    std::vector<std::string> texts;
    for (int i = 0; i < 16; ++i)
      for (const SeenRow& row : ranks.step(1))
        texts.push_back(row.texts().front());
    return texts;
  };
  Ranks ranks(options, 1, *kBytes);
  auto first = order(ranks);
  auto second = order(ranks);
  options.seed = 6;
  Ranks reseeded(options, 1, *kBytes);
  const auto other = order(reseeded);
  options.shuffle = false;
  Ranks unshuffled(options, 1, *kBytes);
  const auto in_file_order = order(unshuffled);
  CHECK(first != second);
  CHECK(first != other);
  CHECK(first != in_file_order);
  CHECK(in_file_order[0].starts_with("d0 "));
  CHECK(in_file_order[63].starts_with("d63"));
  CHECK(order(unshuffled) == in_file_order);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
}

// DAT-12: documents sorted by length; a split into halves would give one rank
// all short ones.
TEST_CASE("ranks see documents of the same mean length, sorted or not (DAT-12)",
          "[unit]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 1; i <= 100; ++i)
    lines +=
        "{\"text\":\"" + std::string(static_cast<size_t>(i), 'x') + "\"}\n";
  DataOptions options = options_for(folder.write("a.jsonl", lines), "jsonl");
  options.num_lanes = 64;
  options.seq_len = options.tokens_per_microbatch = 128;
  options.packing = "none";
  options.dp_world = 2;
  double means[2];
  for (options.dp_rank = 0; options.dp_rank < 2; ++options.dp_rank) {
    DataStream stream(options, *kBytes);
    Microbatch batch;
    double sum = 0;
    for (int i = 0; i < 10 * 32; ++i) {
      stream.next(batch);
      sum += static_cast<double>(batch.n_valid + 1);
    }
    means[options.dp_rank] = sum / 320;
  }
  // Two means of 320 draws from 1..100 differ by 28.9 * sqrt(2 / 320) = 2.3.
  CHECK(std::abs(means[0] - means[1]) < 5 * 2.3);
}

// DAT-18: weights are shares of rows, whatever the lengths of documents.
TEST_CASE("a mixture holds its weights in rows and over a stop (DAT-18)",
          "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for("", "jsonl");
  options.sources = {
      {.use = "jsonl",
       .files = {folder.write("a.jsonl", jsonl_of(400, 10, "A"))},
       .weight = 3},
      {.use = "jsonl",
       .files = {folder.write("b.jsonl", jsonl_of(40, 1000, "B"))},
       .weight = 1}};
  options.seq_len = 100;
  options.tokens_per_microbatch = 400;
  Ranks ranks(options, 1, *kBytes);
  const auto is_from_a = [](const SeenRow& row) {
    return std::count(row.tokens.begin(), row.tokens.end(), 'A') > 0;
  };
  int from_a = 0;
  std::string state;
  std::vector<bool> order;
  for (int i = 0; i < 1000; ++i) {
    if (i == 500) state = ranks.state();
    for (const SeenRow& row : ranks.step(1)) {
      from_a += is_from_a(row);
      if (i >= 500) order.push_back(is_from_a(row));
    }
  }
  // A golden-ratio sequence of 4,000: off by less than 10 (random: 27).
  CHECK(std::abs(from_a - 3000) < 10);
  Ranks resumed(options, 1, *kBytes);
  resumed.restore(state);
  std::vector<bool> again;
  for (int i = 500; i < 1000; ++i)
    for (const SeenRow& row : resumed.step(1)) again.push_back(is_from_a(row));
  CHECK(order == again);
}

TEST_CASE("a source that is used up repeats, ends its lanes or fails (DAT-18)",
          "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for("", "jsonl");
  options.num_lanes = 2;
  options.sources = {
      {.use = "jsonl", .files = {folder.write("a.jsonl", jsonl_of(40, 16))}},
      {.use = "jsonl",
       .files = {folder.write("b.jsonl", jsonl_of(400, 16, "e"))}}};
  Ranks endless(options, 1, *kBytes);
  for (int i = 0; i < 100; ++i) endless.step(1);
  CHECK_FALSE(endless.has_ended());
  options.sources[0].epochs = 1;
  Ranks ending(options, 1, *kBytes);
  for (int i = 0; i < 100; ++i) ending.step(1);
  CHECK(ending.has_ended());
  // 40 rows of a, and as many of b in between, give or take a few per lane.
  CHECK(std::abs(ending.num_valid() / 15 - 80) <= 8);
  options.on_exhausted = "error";
  Ranks failing(options, 1, *kBytes);
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 100; ++i) failing.step(1);
      }(),
      Contains("source 0 of data.sources is used up"));
}

TEST_CASE("the end of one text file is held out, as nanoGPT does", "[unit]") {
  DataOptions options = options_for(kShakespeare);
  options.validation_fraction = 0.1;
  const std::string text = read_file(kShakespeare);
  options.split = Split::kValidation;
  DataStream validation(options, *kBytes);
  std::string joined;
  Microbatch batch;
  int64_t num_valid = 0;
  while (validation.next(batch)) {
    joined.append(batch.tokens.begin(), batch.tokens.end());
    num_valid += batch.n_valid;
  }
  joined.resize(111540);
  CHECK(joined == text.substr(1003854));  // nanoGPT's shakespeare_char
  CHECK(num_valid == 111539);
}

TEST_CASE("an epoch of text is all of its bytes once", "[unit]") {
  DataOptions options = options_for(kShakespeare);
  options.validation_fraction = 0.1;
  options.num_lanes = 64;
  options.sources[0].epochs = 1;
  Ranks ranks(options, 1, *kBytes);
  std::string all;
  while (!ranks.has_ended())
    for (const SeenRow& row : ranks.step(1))
      for (const std::string& text : row.texts()) all += text;
  std::string expected = read_file(kShakespeare).substr(0, 1003854);
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  CHECK(all == expected);
  // A target is lost at the end of each piece, and there are few.
  CHECK(1003854 - ranks.num_valid() < 100);
}

TEST_CASE("validation counts each token that has a next one exactly once",
          "[unit]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 300; ++i)
    lines += "{\"text\":\"" + std::string(1 + i % 37, 'a' + i % 26) +
             std::to_string(i) + "\"}\n";
  for (const std::string packing : {"sequential", "best_fit", "none"}) {
    DataOptions options = options_for(folder.write("a.jsonl", lines), "jsonl");
    options.packing = packing;
    options.validation_fraction = 0.25;
    options.sources[0].epochs = 1;
    Ranks training(options, 2, *kBytes);
    while (!training.has_ended()) training.step(1);
    options.split = Split::kValidation;
    std::set<int64_t> sums;
    for (const int world : {1, 3}) {
      options.dp_world = world;
      int64_t num_valid = 0;
      std::set<int64_t> num_batches;
      for (options.dp_rank = 0; options.dp_rank < world; ++options.dp_rank) {
        DataStream stream(options, *kBytes);
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
        num_batches.insert(taken);
        stream.rewind();
        CHECK(stream.next(batch) == (taken > 0));
      }
      CHECK(num_batches.size() == 1);
      sums.insert(num_valid);
    }
    CHECK(sums.size() == 1);
    int64_t num_all = 0;
    for (int i = 0; i < 300; ++i)
      num_all += i % 37 + static_cast<int64_t>(std::to_string(i).size());
    CHECK(training.num_valid() + *sums.begin() == num_all);
    // A quarter of 300 documents, 5 sigma of slack, as targets.
    CHECK(std::abs(*sums.begin() - num_all / 4) < num_all / 4 * 38 / 75);
  }
}

TEST_CASE("a cut never splits a character", "[unit]") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 3001; ++i) text += "\U0001F600";
  DataOptions options = options_for(folder.write("a.txt", text));
  options.seq_len = options.tokens_per_microbatch = 4;
  options.sources[0].epochs = 1;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  for (const double fraction : {0.1, 0.33, 0.5, 0.77}) {
    options.validation_fraction = fraction;
    int64_t num_tokens = 0;
    for (const Split split : {Split::kTrain, Split::kValidation}) {
      options.split = split;
      DataStream stream(options, *tokenizer);
      Microbatch batch;
      // A cut inside a character would be an error: text is not UTF-8.
      while (!stream.has_ended() && stream.next(batch))
        num_tokens += batch.tokens.size() -
                      std::count(batch.tokens.begin(), batch.tokens.end(), 0);
    }
    CHECK(num_tokens == 3001 * 4);
  }
}

TEST_CASE("validation files replace the fraction", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(folder.write("a.txt", "training text"));
  options.validation_files = {folder.write("b.txt", "held out")};
  options.split = Split::kValidation;
  DataStream stream(options, *kBytes);
  Microbatch batch;
  REQUIRE(stream.next(batch));
  CHECK(batch.n_valid == 7);
  CHECK_FALSE(stream.next(batch));
}

TEST_CASE("documents are wrapped in BOS and EOS where asked", "[unit]") {
  const TemporaryFolder folder;
  DataOptions options = options_for(
      folder.write("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n"), "jsonl");
  options.shuffle = false;
  options.num_lanes = 1;
  options.add_bos = options.add_eos = true;
  options.seq_len = options.tokens_per_microbatch = 6;
  const auto tokenizer = titan::load_tokenizer(kTokenizer);
  DataStream stream(options, *tokenizer);
  Microbatch batch;
  REQUIRE(stream.next(batch));
  using Longs = std::vector<int64_t>;
  CHECK(batch.tokens == Longs{2000, 64, 2001, 2000, 65, 2001});
  CHECK(batch.labels == Longs{64, 2001, kNoTarget, 65, 2001, kNoTarget});
  CHECK_THROWS_WITH(DataStream(options, *kBytes),
                    Contains("add_bos needs a BOS token"));
}

TEST_CASE("a state of other data or options is refused", "[unit]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.jsonl", jsonl_of(50, 20));
  DataOptions options = options_for(file, "jsonl");
  DataStream stream(options, *kBytes);
  const std::string state = stream.state();
  const auto message = [&](const DataOptions& changed) {
    DataStream other(changed, *kBytes);
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
  CHECK_THAT(message(changed), Contains("seed: expected 5 (saved), got 6"));
  changed = options;
  changed.seq_len = 32;
  CHECK_THAT(message(changed), Contains("seq_len"));
  changed = options;
  changed.num_lanes = 16;
  CHECK_THAT(message(changed), Contains("lanes: expected 8 (saved), got 16"));
  changed = options;
  changed.sources[0].files = {folder.write("b.jsonl", jsonl_of(50, 20, "x"))};
  CHECK_THAT(message(changed), Contains("sources"));
  for (const std::string bad :
       {"nonsense", "{}", R"({"lane_states":{},"next_row":0})"})
    CHECK_THROWS_AS(stream.restore(bad), titan::UserError);
  std::string damaged = state;
  damaged.replace(damaged.find("\"next\":[0"), 9, "\"next\":[x");
  CHECK_THROWS_AS(stream.restore(damaged), titan::UserError);
}

TEST_CASE("a state with any number damaged is refused or read, seed 3",
          "[unit]") {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  DataOptions options = unlike_options(folder)[1];
  options.num_threads = 0;
  Ranks ranks(options, 1, *kBytes);
  for (int i = 0; i < 5; ++i) ranks.step(1);
  const std::string state = ranks.state();
  DataStream stream(options, *kBytes);
  int num_refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = state;
    const size_t from = damaged.find("lane_states");
    size_t at = from + random() % (damaged.size() - from);
    while (damaged[at] < '0' || damaged[at] > '9')
      at = from + random() % (damaged.size() - from);
    damaged[at] = static_cast<char>('0' + random() % 10);
    if (i % 3 == 0) damaged.insert(at, "99999999");
    try {
      stream.restore(damaged);
      Microbatch batch;
      for (int k = 0; k < 4; ++k) stream.next(batch);
    } catch (const titan::UserError&) {
      ++num_refused;
    }
  }
  CHECK(num_refused > 50);
}

TEST_CASE("data that cannot be used is refused with the reason", "[unit]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.txt", "0123456789\xff abcdefghij");
  DataOptions options = options_for(file);
  Microbatch batch;
  const auto first = [&](const titan::Tokenizer& tokenizer) {
    DataStream stream(options, tokenizer);
    stream.next(batch);
  };
  CHECK_NOTHROW(first(*kBytes));
  options.vocab_size = 255;
  CHECK_THROWS_WITH(
      first(*kBytes),
      Contains("token id 255") && Contains("at least 256, got 255"));
  options.vocab_size = 0;
  CHECK_THROWS_WITH(first(*titan::load_tokenizer(kTokenizer)),
                    Catch::StartsWith(file + ": [data] text is not UTF-8") &&
                        Contains("offset 10"));
  options = options_for(folder.write("b.jsonl", "{\"text\":\"\"}\n"), "jsonl");
  CHECK_THROWS_WITH(first(*kBytes), Contains("nothing to train on"));
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
  CHECK_THAT(message([](O o) { o.sources.clear(); }), starts("[data.sources]"));
  CHECK_THAT(message([](O o) { o.sources[0].use = "csv"; }),
             starts("[data.use]"));
  CHECK_THAT(message([](O o) { o.sources[0].files = {}; }),
             starts("[data.files]"));
  CHECK_THAT(message([](O o) { o.seq_len = 0; }), starts("[data.seq_len]"));
  CHECK_THAT(message([](O o) { o.seq_len = 10; }),
             starts("[data.tokens_per_microbatch]"));
  CHECK_THAT(message([](O o) { o.tokens_per_step = 100; }),
             starts("[data.tokens_per_step]"));
  CHECK_THAT(message([](O o) { o.dp_rank = 1; }), starts("[data] dp_rank"));
  CHECK_THAT(message([](O o) { o.dp_world = 3; }), starts("[data.lanes]"));
  CHECK_THAT(message([](O o) { o.packing = "tight"; }),
             starts("[data.packing]"));
  CHECK_THAT(message([](O o) { o.too_long = "drop"; }),
             starts("[data.too_long]"));
  CHECK_THAT(message([](O o) { o.on_exhausted = "loop"; }),
             starts("[data.on_exhausted]"));
  CHECK_THAT(message([](O o) { o.validation_fraction = 1; }),
             starts("[data.validation_fraction]"));
  CHECK_THAT(message([](O o) { o.split = Split::kValidation; }),
             starts("[data] there is no validation data"));
  CHECK_THAT(message([](O o) { o.on_bad_line = "ignore"; }),
             starts("[data.on_bad_line]"));
  CHECK_THAT(message([](O o) { o.sources[0].epochs = -1; }),
             starts("[data.epochs]"));
  CHECK_THAT(message([](O o) {
               o.sources[0].epochs = 2;
               o.on_exhausted = "repeat";
             }),
             starts("[data.epochs]"));
  CHECK_THAT(message([](O o) {
               o.validation_fraction = 0.1;
               o.validation_files = {"b.txt"};
             }),
             starts("[data.validation_files]"));
}

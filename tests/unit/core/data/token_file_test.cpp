// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/token_file.h"

#include <algorithm>
#include <cstring>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/data/read_report.h"
#include "core/data/token_dataset.h"
#include "tests/unit/core/data/data_test.h"

namespace {

using Catch::Contains;
using titan::TokenFile;
using titan::TokenFileWriter;
using titan::test::read_file;
using titan::test::TemporaryFolder;
using Ids = std::vector<int32_t>;

Ids read_all(const TokenFile& file) {
  Ids ids;
  file.read(0, file.num_tokens(), ids);
  return ids;
}

std::string write(const std::string& path,
                  const std::vector<Ids>& documents,
                  int token_bytes) {
  TokenFileWriter writer(
      titan::checkpoint::real_file_system(), path, token_bytes);
  for (const Ids& ids : documents) writer.append(ids, true);
  writer.finish();
  return path;
}

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          numbers.size() * sizeof(Number)};
}

std::string llm_c(int32_t magic, int32_t version, int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return bytes_of(header);
}

}  // namespace

// DAT-08: two bytes would turn 65536 into 0 and 128000 into 62464.
TEST_CASE("ids on both sides of 65536 come back exactly (DAT-08)", "[unit]") {
  const TemporaryFolder folder;
  const Ids ids = {0, 65535, 65536, 70000, 128000};
  const TokenFile file(write(folder.path() + "/a.bin", {ids, {1}}, 4));
  CHECK(file.token_bytes() == 4);
  CHECK(read_all(file) == Ids{0, 65535, 65536, 70000, 128000, 1});
  CHECK(file.num_documents() == 2);
  CHECK(file.document_start(1) == 5);
  CHECK(file.document_at(4) == 0);
  CHECK(file.document_at(5) == 1);
  file.verify();
  CHECK_THROWS_AS(write(folder.path() + "/b.bin", {ids}, 2), titan::BugError);
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/b.bin"));
}

// The worked example of docs/data_format.md.
TEST_CASE("a token file has the documented bytes", "[unit]") {
  const TemporaryFolder folder;
  const std::string bytes =
      read_file(write(folder.path() + "/a.bin", {{5, 6, 7}, {8}}, 2));
  const std::string expected = std::string("TITANTOK\1\0\0\0\2\0\0\0", 16) +
                               std::string("\5\0\6\0\7\0\10\0", 8) +
                               bytes_of(std::vector<uint64_t>{0, 3, 4, 2});
  REQUIRE(bytes.size() == 16 + 8 + 16 + 40);
  CHECK(bytes.substr(0, expected.size()) == expected);
}

TEST_CASE("files of llm.c and nanoGPT are read as they are (DAT-08)",
          "[unit]") {
  const TemporaryFolder folder;
  const std::vector<uint16_t> narrow = {50256, 1, 65535};
  const std::vector<uint32_t> wide = {128000, 1, 70000};
  const TokenFile gpt2(
      folder.write("a.bin", llm_c(20240520, 1, 3) + bytes_of(narrow)));
  CHECK(read_all(gpt2) == Ids{50256, 1, 65535});
  const TokenFile llama3(
      folder.write("b.bin", llm_c(20240801, 7, 3) + bytes_of(wide)));
  CHECK(llama3.token_bytes() == 4);
  CHECK(read_all(llama3) == Ids{128000, 1, 70000});
  const TokenFile nano(folder.write("c.bin", bytes_of(narrow)));
  CHECK(read_all(nano) == Ids{50256, 1, 65535});
  CHECK(nano.num_documents() == 0);
}

TEST_CASE("widths and sizes that disagree are refused (DAT-08)", "[unit]") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& bytes) {
    try {
      const TokenFile file(folder.write("x.bin", bytes));
    } catch (const titan::UserError& problem) {
      return std::string(problem.what());
    }
    return std::string("opened");
  };
  const std::string six(6, '\1');
  CHECK_THAT(error("odd"), Contains("expected an even size, got 3 bytes"));
  CHECK_THAT(error(llm_c(20240520, 1, 4) + six),
             Contains("expected 4 ids of 2 bytes"));
  // Declared as four bytes wide, written as two.
  CHECK_THAT(error(llm_c(20240801, 7, 3) + six),
             Contains("expected 3 ids of 4 bytes"));
  CHECK_THAT(error(llm_c(20240520, 2, 3) + six),
             Contains("expected version 1, got 2"));
  CHECK_THAT(error(llm_c(20240520, 1, -3)), Contains("contradicts"));
  CHECK_THAT(error(""), Contains("x.bin"));
}

TEST_CASE("every damaged byte of a token file is found, or is a token's",
          "[unit]") {
  const TemporaryFolder folder;
  const std::string good =
      read_file(write(folder.path() + "/a.bin", {{5, 6, 7}, {8}}, 2));
  int num_found = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x41);
    try {
      const TokenFile file(folder.write("x.bin", bytes));
      file.verify();
      for (int64_t d = 0; d < file.num_documents(); ++d) file.document_start(d);
    } catch (const titan::UserError&) {
      ++num_found;
    }
  }
  // Without its magic the file is one of nanoGPT's: eight bytes.
  CHECK(num_found == static_cast<int>(good.size()) - 8);
  for (size_t size = 16; size < good.size(); ++size)
    CHECK_THROWS_AS(TokenFile(folder.write("x.bin", good.substr(0, size))),
                    titan::UserError);
}

TEST_CASE("a token dataset holds each token once, documents whole", "[unit]") {
  const TemporaryFolder folder;
  std::vector<Ids> documents;
  for (int i = 0; i < 300; ++i)
    documents.emplace_back(static_cast<size_t>(1 + i * 37 % 91), i);
  documents.emplace_back(5000, 999);  // Longer than a unit.
  titan::ReadReport report(titan::OnBadRecord::kError);
  titan::DatasetOptions options;
  options.files = {write(folder.path() + "/a.bin", documents, 2)};
  options.num_lanes = 16;
  options.seq_len = 32;
  options.report = &report;
  const auto dataset = titan::open_token_dataset(options);
  CHECK(dataset->num_units() >= 16);
  std::vector<Ids> read;
  for (int64_t unit = 0; unit < dataset->num_units(); ++unit) {
    std::vector<titan::Record> records;
    dataset->open(unit)->next_block(records);
    for (titan::Record& record : records) {
      if (record.has_lookahead) {
        CHECK(record.ids.back() == 999);
        record.ids.pop_back();
      }
      read.push_back(std::move(record.ids));
    }
  }
  Ids joined;
  for (size_t i = 0; i < read.size(); ++i) {
    if (i < 300) CHECK(read[i] == documents[i]);
    if (i >= 300) joined.insert(joined.end(), read[i].begin(), read[i].end());
  }
  CHECK(joined == documents.back());
}

// DAT-10: B = 2, T = 8, dp = 4, a shard of 100 tokens and another.
TEST_CASE("no token of a shard's end is lost, on any rank (DAT-10)", "[unit]") {
  const TemporaryFolder folder;
  std::vector<uint16_t> first(100), second(60);
  for (size_t i = 0; i < 100; ++i) first[i] = static_cast<uint16_t>(1 + i);
  for (size_t i = 0; i < 60; ++i) second[i] = static_cast<uint16_t>(101 + i);
  titan::DataOptions options = titan::test::options_for("", "tokens");
  options.sources[0].files = {folder.write("a.bin", bytes_of(first)),
                              folder.write("b.bin", bytes_of(second))};
  options.sources[0].epochs = 1;
  options.seq_len = 8;
  options.tokens_per_microbatch = 16;
  const auto tokenizer = titan::load_tokenizer("bytes");
  titan::test::Ranks ranks(options, 4, *tokenizer);
  titan::test::Ranks single(options, 1, *tokenizer);
  std::vector<int64_t> seen, targets;
  while (!ranks.has_ended()) {
    const auto rows = ranks.step(1);
    // Ranks cannot differ in when they change shards: a step has the rows that
    // it would have on one.
    CHECK(rows == single.step(4));
    for (const auto& row : rows)
      for (size_t t = 0; t < row.tokens.size(); ++t) {
        if (row.tokens[t] != 0) seen.push_back(row.tokens[t]);
        if (row.labels[t] >= 0) targets.push_back(row.labels[t]);
      }
  }
  std::sort(seen.begin(), seen.end());
  std::sort(targets.begin(), targets.end());
  REQUIRE(seen.size() == 160);
  for (int64_t i = 0; i < 160; ++i) CHECK(seen[i] == i + 1);
  // All but the first of each shard: no window crosses a shard.
  REQUIRE(targets.size() == 158);
  CHECK(std::count(targets.begin(), targets.end(), 101) == 0);
}

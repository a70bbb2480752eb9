// SPDX-License-Identifier: BSD-3-Clause
// Parquet files as records, against what make_fixtures.py wrote.
#include "plugins/datasets/parquet/dataset.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/tokenizer/temporary_folder.h"

using Catch::Contains;
using titan::DatasetRequest;
using titan::RecordFormat;
using titan::parquet_dataset::ParquetDataset;
using titan::parquet_dataset::Selection;
using titan::test::TemporaryFolder;

namespace {

std::string fixture(const std::string& name) {
  return TITAN_SOURCE_DIR "/tests/unit/plugins/datasets/parquet/data/" + name +
         ".parquet";
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

Selection text_of(const std::string& column) {
  return {RecordFormat::kText, {column}};
}

// A record as text: "refused: why" for one that cannot be used, ids in
// brackets.
struct Seen {
  std::vector<std::string> records;

  static void add(void* self, const titan_record* record) {
    std::string words(record->content.data ? record->content.data : "",
                      record->content.size);
    for (uint64_t i = 0; i < record->num_ids; ++i)
      words += '[' + std::to_string(record->ids[i]) + ']';
    static_cast<Seen*>(self)->records.push_back(words);
  }
  static void refuse(void* self, titan_str why) {
    static_cast<Seen*>(self)->records.push_back(
        "refused: " + std::string(why.data, why.size));
  }
  titan_record_sink sink() {
    return {sizeof(titan_record_sink), 0, this, add, refuse};
  }
};

std::vector<std::string> read_shard(const ParquetDataset& dataset,
                                    int64_t shard,
                                    int64_t from = 0) {
  Seen seen;
  const titan_record_sink sink = seen.sink();
  const auto reader = dataset.open(shard);
  if (from > 0) reader->seek(from);
  for (size_t before = 0;; before = seen.records.size()) {
    reader->next(titan::RecordSink(sink));
    if (seen.records.size() == before) return seen.records;
  }
}

std::vector<std::string> read_all(const ParquetDataset& dataset) {
  std::vector<std::string> all;
  for (int64_t shard = 0; shard < dataset.num_shards(); ++shard)
    for (std::string& record : read_shard(dataset, shard))
      all.push_back(std::move(record));
  return all;
}

std::vector<std::string> read_file(const std::string& path,
                                   const Selection& selection,
                                   int64_t num_lanes = 1) {
  return read_all(ParquetDataset(
      selection,
      DatasetRequest{
          .files = {path}, .num_lanes = num_lanes, .block_bytes = 1 << 20}));
}

}  // namespace

TEST_CASE("rows come in order, nulls refused, with their place", "[unit]") {
  const DatasetRequest request = {.files = {fixture("text"), fixture("text")},
                                  .num_lanes = 2,
                                  .block_bytes = 1 << 20};
  const ParquetDataset dataset(text_of("text"), request);
  REQUIRE(dataset.num_shards() == 6);  // Row groups of 4, 4 and 2, twice.
  const auto records = read_all(dataset);
  REQUIRE(records.size() == 20);
  CHECK(records[0] == "row 0 row 0 row 0 row 0 ");
  CHECK(records[3] == "refused: column text is null");
  CHECK(records[7].empty());
  CHECK(records[19] == records[9]);
  CHECK(dataset.describe(4, 1) == fixture("text") + ": row group 1, row 1");
}

TEST_CASE("every layout of texts reads alike", "[unit]") {
  const auto expected = read_file(fixture("layouts"), text_of("string"));
  REQUIRE(expected.size() == 20);
  CHECK(expected[5] == "\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80");
  for (const char* column : {"large_string",
                             "string_view",
                             "binary",
                             "large_binary",
                             "dictionary"}) {
    INFO(column);
    CHECK(read_file(fixture("layouts"), text_of(column)) == expected);
  }
}

TEST_CASE("every layout of token lists reads alike", "[unit]") {
  const std::vector<std::string> expected = {
      "[1][2][3]", "[40][50][60]", "[7][8][9]", "[65000][0][1]"};
  for (const char* column : {"list_int32",
                             "list_int64",
                             "list_uint16",
                             "large_list",
                             "fixed_size",
                             "list_view",
                             "large_list_view"}) {
    INFO(column);
    CHECK(read_file(fixture("lists"), {RecordFormat::kTokens, {column}}) ==
          expected);
  }
  CHECK(read_file(fixture("lists"), {RecordFormat::kTokens, {"empty"}}) ==
        std::vector<std::string>{"", "[5]", "", ""});
  const auto damaged =
      read_file(fixture("lists"), {RecordFormat::kTokens, {"damaged"}});
  CHECK(damaged[0] == "refused: token 1 of the row is null");
  CHECK_THAT(damaged[1], Contains("expected an id from 0 to 2^31 - 1, got -1"));
  CHECK_THAT(damaged[2], Contains("got 1099511627776"));
  CHECK(damaged[3] == "refused: column damaged is null");
}

TEST_CASE("conversations become the JSON that chat reads", "[unit]") {
  const auto read = [](std::vector<std::string> columns,
                       const std::string& file = "chat") {
    return read_file(fixture(file), {RecordFormat::kMessages, columns});
  };
  const auto structs = read({"messages"});
  CHECK(structs[0] ==
        R"({"messages":[{"role":"user","content":"Hi \"you\"\u000a"},)"
        R"({"role":"assistant","content":"Hello","weight":1}]})");
  CHECK_THAT(structs[1], Contains("\xE4\xBD\xA0"));
  CHECK(structs[2] == "refused: all of the columns are null: (messages)");
  CHECK(read({"prompt", "completion"})[0] ==
        R"({"prompt":"[INST] p0","completion":"c0"})");
  CHECK(read({"extra", "pairs"})[0] ==
        R"({"extra":{"a":1.5,"b":true},"pairs":{"k":"v"}})");
  // As JSON texts: the values are as they are written.
  const titan::Json written =
      titan::Json::parse(read({"messages"}, "chat_json")[0]);
  CHECK(written.at("messages").at(1).at("content").str() == "Hello");
}

TEST_CASE("every codec is read", "[unit]") {
  const auto expected = read_file(fixture("codec_none"), text_of("text"));
  REQUIRE(expected.size() == 50);
  for (const char* codec : {"snappy", "gzip", "brotli", "zstd", "lz4"}) {
    INFO(codec);
    CHECK(read_file(fixture(std::string("codec_") + codec), text_of("text")) ==
          expected);
  }
}

TEST_CASE("a row group is shared out where there are more lanes", "[unit]") {
  const auto expected = read_file(fixture("pages"), text_of("text"));
  REQUIRE(expected.size() == 1000);
  for (const int64_t lanes : {1, 2, 7, 64}) {
    // 64 KiB of texts: one shard; so that it is cut, four times the file.
    DatasetRequest request = {.files = {fixture("pages")},
                              .num_lanes = lanes,
                              .block_bytes = 1 << 20};
    const ParquetDataset dataset(text_of("text"), request);
    CHECK(read_all(dataset) == expected);
  }
}

TEST_CASE("reading goes on at any record", "[unit]") {
  const DatasetRequest request = {
      .files = {fixture("pages")}, .num_lanes = 1, .block_bytes = 4096};
  const ParquetDataset dataset(text_of("text"), request);
  const auto whole = read_shard(dataset, 0);
  for (const int64_t from : {1, 63, 64, 999, 1000}) {
    INFO(from);
    const auto rest = read_shard(dataset, 0, from);
    CHECK(rest == std::vector(whole.begin() + from, whole.end()));
  }
}

TEST_CASE("files without rows have no shards", "[unit]") {
  for (const char* name : {"no_rows", "no_row_groups"}) {
    INFO(name);
    CHECK(read_file(fixture(name), text_of("text")).empty());
  }
}

TEST_CASE("a column that is not there or another type is named", "[unit]") {
  CHECK_THROWS_WITH(
      read_file(fixture("text"), text_of("body")),
      Contains("text.parquet] column is not there: expected one of (id, text, "
               "when), got body"));
  CHECK_THROWS_WITH(read_file(fixture("text"), text_of("id")),
                    Contains("column id has another type: expected strings, "
                             "got int64"));
  CHECK_THROWS_WITH(
      read_file(fixture("lists"), {RecordFormat::kTokens, {"floats"}}),
      Contains("expected lists of integers, got list<element: float>"));
  CHECK_THROWS_WITH(
      read_file(fixture("chat"), {RecordFormat::kMessages, {"when"}}),
      Contains("expected strings, numbers, and lists and structs of them, got "
               "date32"));
}

TEST_CASE("what is no whole Parquet file is refused by name", "[unit]") {
  const TemporaryFolder folder;
  const std::string whole = bytes_of(fixture("text"));
  for (const size_t size :
       {size_t{1}, size_t{11}, whole.size() / 2, whole.size() - 1}) {
    INFO(size);
    const auto path = folder.write("cut.parquet", whole.substr(0, size));
    CHECK_THROWS_WITH(read_file(path, text_of("text")),
                      Contains("cut.parquet] Parquet file cannot be read"));
  }
  const auto path = folder.write("text.parquet", std::string(5000, 'x'));
  CHECK_THROWS_AS(read_file(path, text_of("text")), titan::UserError);
}

TEST_CASE("a damaged page is noticed where it has a checksum", "[unit]") {
  const TemporaryFolder folder;
  std::string bytes = bytes_of(fixture("pages"));
  const size_t place = bytes.find("row 500 ");
  REQUIRE(place != std::string::npos);
  bytes[place] ^= 1;
  const auto path = folder.write("damaged.parquet", bytes);
  CHECK_THROWS_WITH(read_file(path, text_of("text")),
                    Contains("damaged.parquet, row group 0] Parquet file "
                             "cannot be read"));
}

TEST_CASE("no damage of any byte crashes the reader (seed 7)", "[unit]") {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  int num_refused = 0;
  for (const char* name : {"text", "chat", "lists", "codec_snappy"}) {
    const std::string whole = bytes_of(fixture(name));
    const Selection selection =
        name == std::string("chat")
            ? Selection{RecordFormat::kMessages, {"messages", "extra"}}
        : name == std::string("lists")
            ? Selection{RecordFormat::kTokens, {"list_int32"}}
            : text_of("text");
    for (int round = 0; round < 150; ++round) {
      std::string bytes = whole;
      for (int i = 0; i < 3; ++i)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      const auto path = folder.write("damaged.parquet", bytes);
      try {
        read_file(path, selection);
      } catch (const titan::UserError&) {
        ++num_refused;
      }
    }
  }
  CHECK(num_refused > 50);
}

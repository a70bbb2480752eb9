// SPDX-License-Identifier: BSD-3-Clause
// Text and JSONL, plain and compressed, cut into any number of units: the same
// records come out, each once.
#include "core/data/dataset.h"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>
#include <zlib.h>
#include <zstd.h>

#include <titan/error.h>

#include "core/data/file_list.h"
#include "core/data/read_report.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using Catch::Contains;
using titan::OnBadRecord;
using titan::ReadReport;
using titan::test::TemporaryFolder;
using Texts = std::vector<std::string>;

titan::DatasetOptions options_for(const Texts& files, ReadReport& report) {
  titan::DatasetOptions options;
  options.files = files;
  options.field = "text";
  options.report = &report;
  return options;
}

Texts read_all(const titan::Dataset& dataset) {
  Texts texts;
  for (int64_t unit = 0; unit < dataset.num_units(); ++unit) {
    const auto reader = dataset.open(unit);
    std::vector<titan::Record> records;
    while (reader->next_block(records)) {
    }
    for (const titan::Record& record : records) texts.push_back(record.content);
  }
  return texts;
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(
              &stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(bytes.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

// The bytes of DAT-07.
const std::string kLines =
    "{\"text\":\"ok\"}\r\n"
    "\n"
    "{\"text\":\"\"}\n"
    "{\"text\":null}\n"
    "{\"txet\":\"x\"}\n"
    "{\"text\":\"\xff\xfe\"}\n"
    "{\"text\":\"\\u0000\"}\n"
    "{\"text\":\"\\ud83d\"}\n"
    "[1]\n"
    "{\"text\":\"last\"}";

std::string many_lines() {
  std::string lines;
  for (int i = 0; i < 3000; ++i)
    lines += "{\"text\":\"" + std::string(1 + i * 37 % 200, 'a' + i % 26) +
             std::to_string(i) + "\"}\n";
  return lines;
}

}  // namespace

TEST_CASE("skipping bad lines keeps all good ones and counts (DAT-07)",
          "[unit]") {
  const TemporaryFolder folder;
  for (const std::string form : {"plain", "gz", "zst"}) {
    const std::string path = folder.write("a.jsonl",
                                          form == "gz"    ? gzip(kLines)
                                          : form == "zst" ? zstd(kLines)
                                                          : kLines);
    ReadReport report(OnBadRecord::kSkip);
    const auto dataset = titan::open_jsonl_dataset(options_for({path}, report));
    const Texts expected = {"ok", std::string(1, '\0'), "last"};
    CHECK(read_all(*dataset) == expected);
    CHECK(read_all(*dataset) == expected);  // Bad ones count once.
    const titan::ReadCounts counts = report.counts();
    CHECK(counts.num_records == 6);
    CHECK(counts.num_blank_lines == 2);
    CHECK(counts.num_empty_records == 2);
    CHECK(counts.num_bad_records == 5);
    const Texts messages = {
        path + ":4: [data] field \"text\": expected a string, got null",
        path + ":5: [data] no field \"text\"",
        path + ":6: [data] line is not UTF-8: ill-formed byte at column 10",
        path + ":8: [data] line is not JSON: ",
        path + ":9: [data] expected an object, got array"};
    REQUIRE(counts.first_bad_records.size() == messages.size());
    for (size_t i = 0; i < messages.size(); ++i)
      CHECK_THAT(counts.first_bad_records[i], Catch::StartsWith(messages[i]));
  }
}

TEST_CASE("each kind of bad line stops with file and line (DAT-07)", "[unit]") {
  const TemporaryFolder folder;
  for (const std::string bad : {R"({"text":null})",
                                R"({"txet":"x"})",
                                "{\"text\":\"\xff\"}",
                                R"({"text":"\ud83d"})",
                                R"({"text":)",
                                "3"}) {
    const std::string path =
        folder.write("a.jsonl", "{\"text\":\"ok\"}\n" + bad + "\n");
    ReadReport report(OnBadRecord::kError);
    const auto dataset = titan::open_jsonl_dataset(options_for({path}, report));
    CHECK_THROWS_WITH(read_all(*dataset),
                      Catch::StartsWith(path + ":2: [data] ") &&
                          Catch::EndsWith("set data.on_bad_line: skip"));
  }
}

TEST_CASE("units of any size hold each line once, plain or compressed",
          "[unit]") {
  const TemporaryFolder folder;
  const std::string lines = many_lines();
  ReadReport report(OnBadRecord::kError);
  const auto plain = folder.write("a.jsonl", lines);
  const Texts expected = [&] {
    return read_all(*titan::open_jsonl_dataset(options_for({plain}, report)));
  }();
  REQUIRE(expected.size() == 3000);
  const auto files = {
      plain,
      folder.write("b.jsonl.gz", gzip(lines)),
      folder.write("c.jsonl.zst", zstd(lines)),
      // Members and frames one behind the other are one text.
      folder.write("d.gz",
                   gzip(lines.substr(0, 99999)) + gzip(lines.substr(99999))),
      folder.write("e.zst",
                   zstd(lines.substr(0, 99999)) + zstd(lines.substr(99999)))};
  for (const std::string& file : files)
    for (const int64_t lanes : {1, 3, 64}) {
      for (const int64_t block : {100, 4096, 1 << 20}) {
        auto options = options_for({file}, report);
        options.num_lanes = lanes;
        options.block_bytes = block;
        const auto dataset = titan::open_jsonl_dataset(options);
        CHECK(dataset->num_units() >= (block == 1 << 20 ? 1 : lanes));
        Texts texts = read_all(*dataset);
        if (file != plain) std::sort(texts.begin(), texts.end());
        Texts wanted = expected;
        if (file != plain) std::sort(wanted.begin(), wanted.end());
        CHECK(texts == wanted);
      }
    }
}

TEST_CASE("blocks that are passed over are those that would be read",
          "[unit]") {
  const TemporaryFolder folder;
  ReadReport report(OnBadRecord::kError);
  auto options =
      options_for({folder.write("a.gz", gzip(many_lines()))}, report);
  options.num_lanes = 2;
  options.block_bytes = 10000;
  const auto dataset = titan::open_jsonl_dataset(options);
  std::vector<titan::Record> read, skipped;
  const auto one = dataset->open(1);
  REQUIRE(one->next_block(read));
  read.clear();
  REQUIRE(one->next_block(read));
  const auto two = dataset->open(1);
  REQUIRE(two->skip_block());
  REQUIRE(two->next_block(skipped));
  REQUIRE(read.size() == skipped.size());
  CHECK(read.front().content == skipped.front().content);
}

TEST_CASE("lines count from one in every file, BOM or not", "[unit]") {
  const TemporaryFolder folder;
  const auto a = folder.write("a.jsonl", "\xEF\xBB\xBF{\"text\":\"1\"}\n");
  const auto b = folder.write("b.jsonl", "\n{\"text\":\"2\"}");
  ReadReport report(OnBadRecord::kError);
  const auto dataset = titan::open_jsonl_dataset(options_for({a, b}, report));
  std::vector<titan::Record> records;
  for (int64_t unit = 0; unit < dataset->num_units(); ++unit)
    while (dataset->open(unit)->next_block(records)) break;
  REQUIRE(records.size() == 2);
  CHECK(dataset->describe(records[0].place) == a + ":1");
  CHECK(dataset->describe(records[1].place) == b + ":2");
}

TEST_CASE("without a field the record is the line", "[unit]") {
  const TemporaryFolder folder;
  ReadReport report(OnBadRecord::kError);
  auto options =
      options_for({folder.write("a.jsonl", "{\"x\": 1}\n\n[2]\n")}, report);
  options.field = "";
  CHECK(read_all(*titan::open_jsonl_dataset(options)) ==
        Texts{"{\"x\": 1}", "[2]"});
}

TEST_CASE("text is cut behind lines and joins to the file again", "[unit]") {
  const TemporaryFolder folder;
  std::string book;
  for (int i = 0; i < 4000; ++i)
    book += "line " + std::to_string(i) + (i % 7 == 0 ? "\n\n" : "\n");
  const std::string spaced(50000, 'x');
  ReadReport report(OnBadRecord::kError);
  for (const std::string& text : {book, spaced, std::string("\n\n\n\n")}) {
    for (const std::string form : {"plain", "gz"}) {
      auto options = options_for(
          {folder.write("a.txt", form == "gz" ? gzip(text) : text)}, report);
      options.block_bytes = 5000;
      options.num_lanes = form == "gz" ? 1 : 8;
      const Texts pieces = read_all(*titan::open_text_dataset(options));
      std::string joined;
      for (const std::string& piece : pieces) joined += piece;
      CHECK(joined == text);
      if (text != book) continue;
      CHECK(pieces.size() > 5);
      for (const std::string& piece : pieces) {
        CHECK(piece.ends_with('\n'));
        CHECK_FALSE(piece.starts_with('\n'));
      }
    }
  }
}

TEST_CASE("text pieces know where their document begins and ends", "[unit]") {
  const TemporaryFolder folder;
  ReadReport report(OnBadRecord::kError);
  const auto a = folder.write("a.txt", std::string(9000, 'a'));
  const auto b = folder.write("b.txt", "short");
  auto options = options_for({a, b}, report);
  options.block_bytes = 4096;
  const auto dataset = titan::open_text_dataset(options);
  std::vector<titan::Record> records;
  for (int64_t unit = 0; unit < dataset->num_units(); ++unit)
    dataset->open(unit)->next_block(records);
  REQUIRE(records.size() == 4);
  std::string ends;
  for (const titan::Record& record : records) {
    ends += record.begins_document ? "[" : ".";
    ends += record.ends_document ? "]" : ".";
  }
  CHECK(ends == "[....][]");
}

TEST_CASE("damaged and cut compressed files are named", "[unit]") {
  const TemporaryFolder folder;
  ReadReport report(OnBadRecord::kSkip);
  for (const std::string& whole : {gzip(many_lines()), zstd(many_lines())}) {
    for (std::string bytes :
         {whole.substr(0, whole.size() / 2), whole.substr(0, 20)}) {
      const auto path = folder.write("a.jsonl.z", bytes);
      const auto dataset =
          titan::open_jsonl_dataset(options_for({path}, report));
      CHECK_THROWS_WITH(read_all(*dataset),
                        Contains("damaged or cut short: " + path));
    }
    std::string damaged = whole;
    damaged[damaged.size() / 2] ^= 0x55;
    damaged[damaged.size() / 2 + 1] ^= 0x55;
    const auto dataset = titan::open_jsonl_dataset(
        options_for({folder.write("b.jsonl.z", damaged)}, report));
    // Damage is found by zlib or zstd, or it shows as bad lines.
    try {
      read_all(*dataset);
    } catch (const titan::UserError&) {
    }
  }
}

TEST_CASE("damaged lines are skipped one by one, never more, seed 11",
          "[unit]") {
  const TemporaryFolder folder;
  std::mt19937 random(11);
  std::string bytes;
  const int num_lines = 2000;
  for (int i = 0; i < num_lines; ++i) {
    std::string line = R"({"text": "caf\u00e9 \ud83d\ude00", "n": [1, {}]})";
    if (i % 2) {
      const char damage = static_cast<char>(random());
      line[random() % line.size()] = damage == '\n' ? ' ' : damage;
    }
    bytes += line + "\n";
  }
  ReadReport report(OnBadRecord::kSkip);
  const auto dataset = titan::open_jsonl_dataset(
      options_for({folder.write("a.jsonl", bytes)}, report));
  const auto num_read = static_cast<int64_t>(read_all(*dataset).size());
  CHECK(num_read >= num_lines / 2);
  CHECK(report.counts().num_bad_records > 0);
  CHECK(num_read + report.counts().num_bad_records == num_lines);
}

TEST_CASE("folders and patterns stand for their files, in order", "[unit]") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/deep/.hidden");
  const auto b = folder.write("b.txt", "b");
  const auto a = folder.write("deep/a.txt.gz", gzip("a"));
  folder.write("deep/.hidden/c.txt", "c");
  folder.write("image.png", "x");
  folder.write("empty.txt", "");
  const Texts endings = titan::endings_for("text");
  CHECK(titan::expand_files({folder.path()}, endings) == Texts{b, a});
  CHECK(titan::expand_files({folder.path() + "/*.txt", a}, endings).size() ==
        2);
  CHECK(titan::expand_files({b, b}, endings) == Texts{b, b});
  CHECK_THROWS_WITH(titan::expand_files({folder.path() + "/none.txt"}, endings),
                    Contains("no such file: "));
  CHECK_THROWS_WITH(titan::expand_files({folder.path() + "/x*"}, endings),
                    Contains("pattern matches no file"));
  CHECK_THROWS_WITH(
      titan::expand_files({folder.path() + "/empty.txt"}, endings),
      Contains("file is empty"));
  CHECK_THROWS_WITH(titan::expand_files({folder.path() + "/deep/.hidden"},
                                        titan::endings_for("jsonl")),
                    Contains("folder without files to read"));
}

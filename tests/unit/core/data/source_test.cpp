// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/source.h"

#include <random>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace {

using titan::OnBadLine;
using titan::test::TemporaryFolder;
using Texts = std::vector<std::string>;

Texts read_all(titan::DocumentSource& source) {
  Texts texts;
  titan::Document document;
  while (source.next(document)) texts.push_back(document.text);
  return texts;
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

}  // namespace

TEST_CASE("skipping bad lines keeps all good ones and counts (DAT-07)",
          "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl", kLines);
  const auto source =
      titan::make_jsonl_source({path}, "text", OnBadLine::kSkip);
  CHECK(read_all(*source) == Texts{"ok", std::string(1, '\0'), "last"});
  const titan::SourceReport& report = source->report();
  CHECK(report.num_documents == 3);
  CHECK(report.num_blank_lines == 1);
  CHECK(report.num_empty_documents == 1);
  CHECK(report.num_bad_lines == 5);
  const Texts expected = {
      path + ":4: [data] field \"text\": expected a string, got null",
      path + ":5: [data] no field \"text\"",
      path + ":6: [data] line is not UTF-8: ill-formed byte at column 10",
      path + ":8: [data] line is not JSON: ",
      path + ":9: [data] expected an object, got array"};
  REQUIRE(report.first_bad_lines.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK_THAT(report.first_bad_lines[i], Catch::StartsWith(expected[i]));
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
    const auto source =
        titan::make_jsonl_source({path}, "text", OnBadLine::kError);
    titan::Document document;
    REQUIRE(source->next(document));
    CHECK(document.location == path + ":1");
    CHECK_THROWS_WITH(source->next(document),
                      Catch::StartsWith(path + ":2: [data] ") &&
                          Catch::EndsWith("set data.on_bad_line: skip"));
  }
}

TEST_CASE("lines count from one in every file, BOM or not", "[unit]") {
  const TemporaryFolder folder;
  const auto a = folder.write("a.jsonl", "\xEF\xBB\xBF{\"t\":\"1\"}\n");
  const auto b = folder.write("b.jsonl", "\n{\"t\":\"2\"}");
  const auto source = titan::make_jsonl_source({a, b}, "t", OnBadLine::kError);
  titan::Document document;
  REQUIRE(source->next(document));
  CHECK(document.location == a + ":1");
  REQUIRE(source->next(document));
  CHECK(document.location == b + ":2");
  CHECK_FALSE(source->next(document));
}

TEST_CASE("a text file is one document, bytes as they are", "[unit]") {
  const TemporaryFolder folder;
  const auto a = folder.write("a.txt", "one\r\n\xff");
  const auto b = folder.write("b.txt", "two");
  const auto source = titan::make_text_source({a, b});
  CHECK(read_all(*source) == Texts{"one\r\n\xff", "two"});
}

TEST_CASE("missing and empty files are named before reading", "[unit]") {
  const TemporaryFolder folder;
  const auto empty = folder.write("empty.txt", "");
  CHECK_THROWS_WITH(
      titan::make_text_source({folder.path() + "/none.txt"}),
      Catch::Contains("no such file: ") && Catch::Contains("none.txt"));
  CHECK_THROWS_WITH(titan::make_jsonl_source({empty}, "text", OnBadLine::kSkip),
                    Catch::Contains("file is empty: " + empty));
  CHECK_THROWS_WITH(titan::make_text_source({folder.path()}),
                    Catch::Contains("no such file: "));
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
  const auto source = titan::make_jsonl_source(
      {folder.write("a.jsonl", bytes)}, "text", OnBadLine::kSkip);
  const auto num_read = static_cast<int64_t>(read_all(*source).size());
  const titan::SourceReport& report = source->report();
  CHECK(num_read >= num_lines / 2);
  CHECK(report.num_bad_lines > 0);
  CHECK(num_read + report.num_bad_lines == num_lines);
}

// SPDX-License-Identifier: BSD-3-Clause
// Each case is a trap that a YAML reader can fall into silently.
#include "core/config/document.h"

#include <random>
#include <string>

#include <catch2/catch.hpp>

#include <titan/error.h>

using titan::config::parse_yaml;
using titan::config::Value;

namespace {

std::string json_of(const std::string& yaml) {
  return parse_yaml(yaml, "r.yaml").to_json();
}

std::string parse_error_of(const std::string& yaml) {
  try {
    return "no error, but " + json_of(yaml);
  } catch (const titan::UserError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("plain scalars follow the YAML 1.2 core schema", "[unit]") {
  CHECK(json_of("[1e-4, .5, 5., -3, +7, 1E3, 0x1F, 0o17, 010]") ==
        "[1e-4,0.5,5.0,-3,7,1000.0,31,15,10]");
  CHECK(json_of("[no, off, yes, on, y, n]") ==
        R"(["no","off","yes","on","y","n"])");
  CHECK(json_of("[true, False, TRUE, ~, null, Null]") ==
        "[true,false,true,null,null,null]");
  CHECK(json_of("[1_000, 1e, e5, ., -, 12:30, 2024-01-01, 0x, +.]") ==
        R"(["1_000","1e","e5",".","-","12:30","2024-01-01","0x","+."])");
  CHECK(json_of("['1', \"true\", !!str 3, !!int \"3\", !!float 3]") ==
        R"(["1","true","3",3,3.0])");
}

TEST_CASE("numbers that cannot be held are errors, not infinity", "[unit]") {
  CHECK(parse_error_of("a: 99999999999999999999") ==
        "r.yaml:1:4: [yaml] integer is too large: expected 64 bits signed, got "
        "99999999999999999999. Put it in quotes if it is text.");
  CHECK_THAT(parse_error_of("a: 1e999"), Catch::Contains("out of range"));
  CHECK_THAT(parse_error_of("a: .inf"), Catch::Contains("not finite"));
  CHECK_THAT(parse_error_of("a: -.INF"), Catch::Contains("not finite"));
  CHECK_THAT(parse_error_of("a: .nan"), Catch::Contains("not finite"));
  CHECK(json_of("a: -9223372036854775808") == R"({"a":-9223372036854775808})");
}

TEST_CASE("values keep file, line and column", "[unit]") {
  const Value root = parse_yaml("a:\n  b: 1\n  c: [x, y]\n", "r.yaml");
  CHECK(root.at_path("a.b")->origin().describe() == "r.yaml:2:6");
  CHECK(root.at_path("a.c[1]")->origin().describe() == "r.yaml:3:10");
  CHECK(root.as_map()[0].key_origin.describe() == "r.yaml:1:1");
}

// CFG-05.
TEST_CASE("a duplicate key names the key and both lines", "[unit]") {
  CHECK(parse_error_of("base: &b {steps: 10, seed: 1}\n"
                       "training:\n  <<: *b\n  steps: 20\n  steps: 30\n") ==
        "r.yaml:5:3: [yaml] duplicate key: \"steps\" is already at line 4, "
        "again at line 5. Keep one of the two.");
  CHECK_THAT(parse_error_of("{a: 1, \"a\": 2}"),
             Catch::Contains("duplicate key"));
  CHECK_THAT(parse_error_of("a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n"),
             Catch::Contains("duplicate key: \"<<\""));
}

// CFG-05.
TEST_CASE("merge keys fill in what the map does not say", "[unit]") {
  CHECK(json_of("b: &b {steps: 10, seed: 1}\nt:\n  <<: *b\n  steps: 20\n") ==
        R"({"b":{"seed":1,"steps":10},"t":{"seed":1,"steps":20}})");
  CHECK(json_of("b: &b {steps: 10}\nt:\n  steps: 20\n  <<: *b\n") ==
        R"({"b":{"steps":10},"t":{"steps":20}})");
  CHECK(json_of("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\n"
                "t: {<<: [*a, *b], z: 3}\n") ==
        R"({"a":{"x":1,"y":1},"b":{"y":2,"z":2},"t":{"x":1,"y":1,"z":3}})");
  CHECK_THAT(parse_error_of("t: {<<: 3}"),
             Catch::Contains("merge key << needs maps"));
  CHECK_THAT(parse_error_of("t: {<<: [{a: 1}, 3]}"),
             Catch::Contains("merge key << needs maps"));
  CHECK(json_of("'<<': 3") == R"({"<<":3})");
}

TEST_CASE("a merged value keeps the place where it was written", "[unit]") {
  const Value root = parse_yaml("b: &b {s: 1}\nt:\n  <<: *b\n", "r.yaml");
  CHECK(root.at_path("t.s")->origin().describe() == "r.yaml:1:11");
}

// CFG-05.
TEST_CASE("tab, BOM, CRLF, several documents and empty files", "[unit]") {
  CHECK(parse_error_of("t:\n\tsteps: 1\n") ==
        "r.yaml:2:1: [yaml] tab in indentation: expected spaces");
  CHECK_THAT(parse_error_of("t:\n  \tsteps: 1\n"),
             Catch::Contains("r.yaml:2:"));
  CHECK_THAT(parse_error_of("a: 1\n  \tb: 2\n"), Catch::Contains("r.yaml:2:"));
  CHECK_THAT(parse_error_of("a:\n  - 1\n \t- 2\n"),
             Catch::Contains("r.yaml:3:"));
  CHECK(json_of("a:\tb\n\t\n\t# note\nc: |\n  \tx\n") ==
        R"({"a":"b","c":"\tx\n"})");
  CHECK(json_of("\xEF\xBB\xBF"
                "a: 1\r\nb:\r\n  c: 2\r\n") == R"({"a":1,"b":{"c":2}})");
  CHECK(parse_error_of("a: 1\n---\nb: 2\n") ==
        "r.yaml:2:1: [yaml] file holds several documents: expected one");
  CHECK_THAT(parse_error_of("a: 1\n...\nb: 2\n"),
             Catch::Contains("several documents"));
  CHECK(json_of("%YAML 1.2\n---\na: 1\n...\n") == R"({"a":1})");
  for (const char* empty : {"", "\n\n", "# only a comment\n", "\xEF\xBB\xBF"}) {
    CHECK(parse_error_of(empty) ==
          "r.yaml:1:1: [yaml] file is empty: expected a map of sections");
  }
}

TEST_CASE("text that is not UTF-8 or not printable is refused", "[unit]") {
  CHECK(parse_error_of("a: 1\nb: \xFF\n") ==
        "r.yaml:2:4: [yaml] text is not UTF-8");
  for (const char* bad : {"\xC0\x80",
                          "\xE0\x80\x80",
                          "\xED\xA0\x80",
                          "\xF4\x90\x80\x80",
                          "\xC3",
                          "\xF0\x9F\x98"}) {
    CHECK_THAT(parse_error_of(std::string("a: ") + bad),
               Catch::Contains("not UTF-8"));
  }
  CHECK_THAT(parse_error_of(std::string("a: \0b", 5)),
             Catch::Contains("control character"));
  CHECK_THAT(parse_error_of("a: b\rc: d"),
             Catch::Contains("control character"));
  CHECK(json_of("a: \xF0\x9F\x98\x80") == "{\"a\":\"\xF0\x9F\x98\x80\"}");
}

// yaml-cpp 0.7 takes the end of the file for the closing quote.
TEST_CASE("a quote that is never closed is an error", "[unit]") {
  CHECK(parse_error_of("a: 1\nb: 'open\n") ==
        "r.yaml:3:2: [yaml] quote is not closed: expected it before the file "
        "ends");
  CHECK_THAT(parse_error_of("a: \"open"),
             Catch::Contains("quote is not closed"));
  CHECK_THAT(parse_error_of("'open"), Catch::Contains("quote is not closed"));
  CHECK(json_of(R"(a: "\x01")") == R"({"a":"\u0001"})");
  CHECK(json_of("a: |+\n  kept\n\n") == R"({"a":"kept\n\n"})");
  CHECK(json_of("a: |\n  kept") == R"({"a":"kept\n"})");
  CHECK(json_of("a: plain") == R"({"a":"plain"})");
}

TEST_CASE("syntax errors have a position and say what to do", "[unit]") {
  CHECK_THAT(parse_error_of("a: b: c"),
             Catch::StartsWith("r.yaml:1:5: [yaml] ':'"));
  CHECK_THAT(parse_error_of("a: [1, 2\n"),
             Catch::Contains("list is not closed"));
  CHECK_THAT(parse_error_of("a: {b: 1\n"),
             Catch::Contains("map is not closed"));
  CHECK_THAT(parse_error_of("a: @x\n"), Catch::Contains("in quotes"));
  CHECK_THAT(parse_error_of("a: *nope\n"), Catch::Contains("anchor"));
  CHECK_THAT(parse_error_of("? [1]\n: 3\n"), Catch::Contains("key is a list"));
  CHECK_THAT(parse_error_of(": 3\n"), Catch::Contains("key is not text"));
  CHECK_THAT(parse_error_of("a: !foo 3\n"),
             Catch::Contains("tag does not fit"));
  CHECK_THAT(parse_error_of("a: !!int x\n"),
             Catch::Contains("tag does not fit"));
  CHECK_THAT(parse_error_of("a: !!set {b}\n"),
             Catch::Contains("tag does not fit"));
}

TEST_CASE("deep nesting is refused in every notation", "[unit]") {
  const auto repeat = [](const std::string& part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  for (const char* part :
       {"[", "{a: ", "- ", "? ", "[{a: ", "&a [", "!!seq ["}) {
    INFO(part);
    CHECK_THROWS_AS(parse_yaml(repeat(part, 100'000), "r.yaml"),
                    titan::UserError);
  }
  std::string block;
  for (int i = 0; i < 600; ++i) block += std::string(i, ' ') + "a:\n";
  CHECK(parse_error_of(block) ==
        "r.yaml:65:65: [yaml] document is nested too deeply: expected at most "
        "64 levels");
  CHECK(json_of(repeat("[", 64) + repeat("]", 64)).size() == 128);
  CHECK_THAT(
      parse_error_of("a: &a [" + repeat("[", 40) + repeat("]", 40) +
                     "]\nb: " + repeat("[", 40) + "*a" + repeat("]", 40)),
      Catch::Contains("too deeply"));
}

TEST_CASE("alias bombs and self references are refused", "[unit]") {
  std::string bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i)
      bomb += std::string("*") + static_cast<char>(c - 1) + " ,";
    bomb += "]\n";
  }
  CHECK_THAT(parse_error_of(bomb), Catch::Contains("aliases copy too much"));
  CHECK_THAT(parse_error_of("a: &x [*x]\n"), Catch::Contains("that holds it"));
  CHECK_THAT(parse_error_of("a: &x {b: *x}\n"),
             Catch::Contains("that holds it"));
}

TEST_CASE("size limits bound the work", "[unit]") {
  CHECK_THAT(parse_error_of("a: " + std::string(std::size_t{1} << 20, 'x')),
             Catch::Contains("file is too large"));
  CHECK(parse_error_of(std::string(129, 'k') + ": 1") ==
        "r.yaml:1:1: [yaml] key is too long: expected at most 128 bytes, got "
        "129");
  std::string many = "a: [";
  for (int i = 0; i < 30'000; ++i) many += "1, ";
  CHECK_THAT(parse_error_of(many + "]"),
             Catch::Contains("document is too large"));
}

TEST_CASE("a file that cannot be read is a user error", "[unit]") {
  CHECK_THROWS_WITH(titan::config::read_yaml_file("does/not/exist.yaml"),
                    "[does/not/exist.yaml] file does not exist: expected a "
                    "YAML file");
  CHECK_THROWS_WITH(titan::config::read_yaml_file("."),
                    Catch::Contains("not a file"));
}

// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <titan/json.hpp>

using titan::Json;

TEST_CASE("JSON text round-trips with order, integers and doubles kept",
          "[unit]") {
  const std::string text =
      R"({"z":1,"a":[1.0,-0.5,1e+300,true,null,"\"\\\u000a"],"m":{}})";
  CHECK(Json::parse(text).dump() == text);
  CHECK(Json::parse(" [ 1 , 2 ] ").dump() == "[1,2]");
}

TEST_CASE("JSON escapes decode to UTF-8, surrogate pairs included", "[unit]") {
  CHECK(Json::parse(R"("\u00e9\ud83d\ude00")").str() ==
        "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST_CASE("JSON integers beyond 64 bits become doubles", "[unit]") {
  CHECK(Json::parse("9223372036854775807").i64() == INT64_MAX);
  CHECK(Json::parse("9223372036854775808").f64() == 9223372036854775808.0);
}

TEST_CASE("JSON faults say where and what was expected", "[unit]") {
  const std::pair<const char*, const char*> faults[] = {
      {R"({"a":1,"a":2})", "[json] 1:11: expected each key once"},
      {"[1,\n 2", "[json] 2:3: expected ',' or ']'"},
      {"[1,]", "[json] 1:4: expected a value"},
      {"01", "[json] 1:3: expected a value"},
      {"1 2", "[json] 1:3: expected the end"},
      {"\"\\ud800\"", "[json] 1:7: expected a surrogate pair"},
      {"\"abc", "[json] 1:5: expected the end of a string"},
      {"1e400", "[json] 1:6: expected a finite number"},
      {"", "[json] 1:1: expected a value"},
  };
  for (const auto& [text, message] : faults)
    CHECK_THROWS_WITH(Json::parse(text), message);
}

TEST_CASE("JSON nesting beyond 64 levels is an error and not a crash",
          "[unit]") {
  CHECK_NOTHROW(Json::parse(std::string(64, '[') + std::string(64, ']')));
  CHECK_THROWS_WITH(Json::parse(std::string(100000, '[')),
                    "[json] 1:66: expected at most 64 levels");
}

TEST_CASE("JSON reads name the type they wanted", "[unit]") {
  CHECK_THROWS_WITH(Json("x").i64(),
                    "[json] expected an integer, got a string");
  CHECK_THROWS_WITH(Json::object().at("dim"), "[dim] key is missing");
  CHECK(Json::parse(R"({"a":null})").i64_or("a", 7) == 7);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/value.h"

#include <string>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/config/path.h"

using titan::config::Value;

TEST_CASE("canonical JSON sorts keys and keeps the type of numbers", "[unit]") {
  Value map = Value::empty_map();
  map.set("b", Value(1.0));
  map.set("a", Value(1));
  map.set("c", Value(1e-4));
  map.set("d", Value(0.1));
  map.set("e", Value("tab\there"));
  CHECK(map.to_json() == R"({"a":1,"b":1.0,"c":1e-4,"d":0.1,"e":"tab\there"})");
  CHECK(Value::from_json(map.to_json(), "test") == map);
}

TEST_CASE("JSON input refuses what it cannot hold exactly", "[unit]") {
  CHECK_THROWS_WITH(Value::from_json(R"({"a":1,"a":2})", "x"),
                    Catch::Contains("[x] key appears twice: \"a\""));
  CHECK_THROWS_WITH(Value::from_json("[18446744073709551615]", "x"),
                    Catch::Contains("integer is too large"));
  CHECK_THROWS_WITH(Value::from_json(std::string(100000, '['), "x"),
                    Catch::Contains("nested too deeply"));
  CHECK_THROWS_AS(Value::from_json("{", "x"), titan::UserError);
  CHECK_THROWS_AS(Value::from_json("", "x"), titan::UserError);
}

TEST_CASE("paths reach maps, lists and op ids that hold dots", "[unit]") {
  const Value root = Value::from_json(
      R"({"kernels":{"titan.rms_norm/1":{"use":"x"}},"groups":[{"lr":2}]})",
      "test");
  CHECK(root.at_path("groups[0].lr")->as_integer() == 2);
  CHECK(root.at_path("kernels.\"titan.rms_norm/1\".use")->as_string() == "x");
  CHECK(root.at_path("kernels.titan.rms_norm/1.use")->as_string() == "x");
  CHECK(root.at_path("groups[1]") == nullptr);
  CHECK(root.at_path("groups.lr") == nullptr);
  CHECK(root.at_path("") == &root);
  CHECK(titan::config::join_path("kernels", "titan.rms_norm/1") ==
        "kernels.\"titan.rms_norm/1\"");
}

TEST_CASE("paths that break the grammar are user errors", "[unit]") {
  for (const char* path : {"a..b",
                           ".a",
                           "a.",
                           "a[",
                           "a[x]",
                           "a[]",
                           "a[99999999999]",
                           "\"a",
                           "a[0]b"}) {
    INFO(path);
    CHECK_THROWS_AS(titan::config::parse_path(path), titan::UserError);
  }
}

TEST_CASE("diff lists the leaves that differ on either side", "[unit]") {
  const Value left = Value::from_json(R"({"a":{"x":1,"y":2},"b":3})", "l");
  const Value right = Value::from_json(R"({"a":{"x":1,"y":5},"c":4})", "r");
  const auto found = titan::config::diff(left, right);
  REQUIRE(found.size() == 3);
  CHECK(found[0].path == "a.y");
  CHECK(found[0].right->as_integer() == 5);
  CHECK(found[1].path == "b");
  CHECK(found[1].right == nullptr);
  CHECK(found[2].path == "c");
  CHECK(found[2].left == nullptr);
}

TEST_CASE("asking for the wrong type is a bug, not a crash", "[unit]") {
  CHECK_THROWS_AS(Value("x").as_integer(), titan::BugError);
  CHECK(Value(3).as_number() == 3.0);
}

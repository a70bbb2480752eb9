// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/schema.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/config/schema_registry.h"
#include "core/config/suggest.h"
#include "core/config/validate.h"

using namespace titan::config;
using Catch::Contains;

namespace {

std::string schema_error(const std::string& json) {
  try {
    parse_schema(json, "acme.x");
  } catch (const titan::UserError& error) {
    CHECK(error.code() == 507);
    return error.what();
  }
  return "no error";
}

// Validates without a registry and returns the result or the first fault.
std::string check(const std::string& schema, const std::string& json) {
  std::vector<Problem> problems;
  const Value out = validate(parse_schema(schema, "s"),
                             Value::from_json(json, "v"),
                             "x",
                             {},
                             problems);
  return problems.empty() ? out.to_json() : format_problem(problems[0]);
}

}  // namespace

TEST_CASE("a schema that cannot be meant is refused with 507", "[unit]") {
  CHECK_THAT(schema_error("{"), Contains("[acme.x]"));
  CHECK_THAT(schema_error("[]"), Contains("not an object"));
  CHECK_THAT(schema_error(R"({"type": "float"})"),
             Contains("type is not known"));
  CHECK_THAT(schema_error(R"({"properties": {"a": {"patern": "x"}}})"),
             Contains("at a: keyword is not supported: got \"patern\""));
  CHECK_THAT(schema_error(R"({"type": "integer", "minimum": "0"})"),
             Contains("minimum has another form: expected a number"));
  CHECK_THAT(schema_error(R"({"type": "integer", "minimum": 3, "maximum": 2})"),
             Contains("minimum is above maximum"));
  CHECK_THAT(schema_error(R"({"type": "integer", "default": "x"})"),
             Contains("default breaks the schema"));
  CHECK_THAT(schema_error(R"({"type": "number", "default": 2, "maximum": 1})"),
             Contains("default breaks the schema"));
  CHECK_THAT(schema_error(R"({"required": ["a"]})"),
             Contains("required names no property"));
  CHECK_THAT(schema_error(R"({"x-group": "other"})"), Contains("x-group"));
  CHECK_THAT(schema_error(R"({"enum": []})"), Contains("enum"));
  CHECK_THAT(schema_error(std::string(200, '[')), Contains("too deeply"));
}

TEST_CASE("ranges, choices, lists and options are checked", "[unit]") {
  CHECK_THAT(check(R"({"type":"number","exclusiveMinimum":0})", "0"),
             Contains("expected more than 0, got 0"));
  CHECK_THAT(check(R"({"type":"number","exclusiveMaximum":1})", "1"),
             Contains("expected less than 1, got 1"));
  CHECK_THAT(check(R"({"type":"array","maxItems":1})", "[1,2]"),
             Contains("at most 1 items, got 2"));
  CHECK_THAT(check(R"({"type":"array","items":{"type":"integer"}})", "[1,[]]"),
             Contains("[x[1]] value has the wrong type: expected integer, got "
                      "list of 0"));
  const std::string options =
      R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})";
  CHECK(check(options, R"("a")") == R"("a")");
  CHECK(check(options, R"(["a"])") == R"(["a"])");
  CHECK_THAT(check(options, "[3]"), Contains("[x[0]]"));
  CHECK_THAT(check(options, "3"),
             Contains("expected string or list of string"));
  CHECK_THAT(check(R"({"type":"string","format":"sha256"})", R"("abc")"),
             Contains("64 digits"));
}

TEST_CASE("a map takes only the keys it names, unless it says more", "[unit]") {
  CHECK_THAT(check(R"({"type":"object"})", R"({"a":1})"),
             Contains("unknown key") && Contains("It takes no keys."));
  CHECK(check(R"({"type":"object","additionalProperties":true})",
              R"({"a":1})") == R"({"a":1})");
  CHECK_THAT(
      check(R"({"type":"object","additionalProperties":{"type":"string"}})",
            R"({"a":1})"),
      Contains("[x.a] value has the wrong type"));
}

TEST_CASE("defaults nest and optional maps with required keys stay absent",
          "[unit]") {
  const std::string schema = R"({"type":"object","properties":{
    "a":{"type":"object","properties":{"b":{"type":"integer","default":3}}},
    "c":{"type":"object","required":["d"],"properties":{"d":{"type":"integer"}}}}})";
  CHECK(check(schema, "{}") == R"({"a":{"b":3}})");
  CHECK_THAT(check(schema, R"({"c":{}})"), Contains("[x.c.d] key is missing"));
}

TEST_CASE("components are found by kind and refused twice", "[unit]") {
  SchemaRegistry registry;
  registry.add_component("titan.model/1", "a.b", R"({"type":"object"})");
  CHECK(registry.find("model", "a.b") != nullptr);
  CHECK(registry.find("titan.model/1", "a.b") != nullptr);
  CHECK(registry.find("optimizer", "a.b") == nullptr);
  CHECK(registry.ids("model") == std::vector<std::string>{"a.b"});
  CHECK_THROWS_WITH(registry.add_component("model", "a.b", "{}"),
                    Contains("DUPLICATE_ID (407)"));
  CHECK_THROWS_WITH(
      registry.add_component(
          "model", "c", R"({"type":"object"})", {{"small", R"({"dim":3})"}}),
      Contains("[flavor small of c] SCHEMA_INVALID (507)"));
}

TEST_CASE("edit distance counts swaps and ignores case and hyphens", "[unit]") {
  CHECK(edit_distance("stpes", "steps") == 1);
  CHECK(edit_distance("warmup-steps", "Warmup_Steps") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(nearest("cosin", {"linear", "cosine"}) == "cosine");
  CHECK(nearest("zzzz", {"linear", "cosine"}).empty());
}

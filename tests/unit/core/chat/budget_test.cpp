// SPDX-License-Identifier: BSD-3-Clause
// Templates that would never end, fill the memory or the stack: each stops with
// a message.
#include "core/chat/budget.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/chat/chat_template.h"

namespace titan::chat {
namespace {

using Catch::Matchers::Contains;

RenderOptions small_limits() {
  RenderOptions options;
  options.limits.max_output_bytes = 1 << 20;
  options.limits.max_steps = 100'000;
  options.limits.max_work_bytes = 8 << 20;
  return options;
}

void check_stops(const std::string& source, const std::string& why) {
  INFO(source.substr(0, 200));
  CHECK_THROWS_WITH(ChatTemplate(source, "t").render({}, small_limits()),
                    Contains(why));
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("endless loops and recursion stop") {
  check_stops(
      "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}"
      "{% endfor %}",
      "does not end");
  check_stops("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
              "nests too deeply");
  check_stops("{{ range(100001) }}", "range: expected at most 100000 items");
}

TEST_CASE("texts and lists that double stop before memory is full") {
  const std::string double_text =
      "{% set ns = namespace(x='0123456789') %}{% for i in range(60) %}"
      "{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
  check_stops(double_text, "too much text");
  check_stops("{{ 'x' * 9999999999 }}", "too much text");
  check_stops("{{ [1] * 9999999 }}", "does not end");
  check_stops("{{ 'x' | center(99999999) }}", "too much text");
  check_stops("{{ '%99999d' % 1 }}", "width");
  check_stops(
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      "a value is too large");
  check_stops(
      "{% set ns = namespace(x=[1]) %}{% for i in range(999) %}"
      "{% set ns.x = [ns.x] %}{% endfor %}",
      "values nest too deeply");
}

TEST_CASE("text behind the output's limit stops") {
  check_stops(repeated("{{ 'x' * 99999 }}", 20), "the text is too long");
}

TEST_CASE("deep syntax is an error, not a full stack") {
  check_stops("{{ " + repeated("(", 9999) + '1' + repeated(")", 9999) + " }}",
              "nests too deeply");
  check_stops("{{ " + repeated("not ", 100'000) + "1 }}", "nests too deeply");
  check_stops("{{ " + repeated("-", 100'000) + "1 }}", "nests too deeply");
  check_stops("{{ 1" + repeated(" + 1", 100'000) + " }}", "too long");
  check_stops("{{ x" + repeated(".x", 100'000) + " }}", "too long");
  check_stops("{{ 1" + repeated(" | abs", 100'000) + " }}", "too long");
  check_stops(repeated("{% if 1 %}", 50'000), "nests too deeply");
  check_stops(
      "{% set " + repeated("(", 9999) + 'x' + repeated(")", 9999) + " = 1 %}",
      "nests too deeply");
}

TEST_CASE("values that hold themselves are freed, and cannot be printed") {
  const ChatTemplate cyclic(
      "{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.all = [ns] %}"
      "{% macro f() %}{% set g = f %}{% macro h() %}{% endmacro %}"
      "{% endmacro %}{{ f() }}done",
      "t");
  CHECK(cyclic.render({}).text == "done");
  check_stops("{% set ns = namespace() %}{{ ns }}", "cannot be printed");
}

TEST_CASE("integers do not wrap") {
  check_stops("{{ 9223372036854775807 + 1 }}", "beyond 64 bits");
  check_stops("{{ (0 - 9223372036854775807 - 1) // -1 }}", "beyond 64 bits");
  check_stops("{{ 10 ** 19 }}", "beyond 64 bits");
  check_stops("{{ 99999999999999999999 }}", "too large");
  check_stops("{{ 1e300 | int }}", "64 bits");
  check_stops("{{ 1 // 0 }}", "zero");
  const ChatTemplate fine(
      "{{ (-1) ** 4611686018427387904 }}{{ -7 // 2 }}"
      "{{ -7 % 3 }}{{ 2 ** 62 }}",
      "t");
  CHECK(fine.render({}).text == "1-424611686018427387904");
}

}  // namespace titan::chat

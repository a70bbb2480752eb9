// SPDX-License-Identifier: BSD-3-Clause
// Byte mutations of valid recipes: the reader may refuse or accept, but it ends
// with a value or a UserError, never with another exception or a crash.
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/config/document.h"
#include "core/config/print.h"
#include "core/config/recipe_schema.h"
#include "core/config/validate.h"
#include "tests/unit/core/config/recipe_fixture.h"

using namespace titan::config;

namespace {

// About two seconds; a number of rounds, so that each run does the same.
constexpr int kRounds = 100'000;
constexpr unsigned kSeed = 20261130;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts = {
      kMinimalRecipe + "precision: bf16\nkernels: {titan.x/1: {use: a}}\n",
      "base: &b {steps: 10, seed: 1}\ntraining:\n  <<: [*b, *b]\n  x: |+\n"
      "    text\n\n  y: >-\n    folded\n    text\n",
      "%YAML 1.2\n---\n? key\n: - 1\n  - [a, {b: 'c', \"d\\n\": !!str "
      "3}]\n...\n",
      "a: &x [1, 2, ~]\nc: [*x, *x]\nb: !<tag:yaml.org,2002:int> \"5\"\n# "
      "note\n&k k: "
      "*k\n",
      "[[{a: [1, {b: c}]}], -x, ? y]\n"};
  return texts;
}

std::string mutate(std::string text, std::mt19937& random) {
  static const std::string kTokens[] = {"[",
                                        "]",
                                        "{",
                                        "}",
                                        ":",
                                        ": ",
                                        "- ",
                                        "? ",
                                        "&a",
                                        "*a",
                                        "<<",
                                        "!",
                                        "!!",
                                        "|",
                                        ">",
                                        "\"",
                                        "'",
                                        "#",
                                        "%",
                                        "@",
                                        "\n",
                                        "\t",
                                        "\r\n",
                                        "---\n",
                                        "...\n",
                                        "\xEF\xBB\xBF",
                                        "\xFF",
                                        "  ",
                                        ",",
                                        "~",
                                        "1e999",
                                        "\\x",
                                        std::string(1, '\0')};
  const auto pick = [&](std::size_t n) {
    return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
  };
  const std::size_t count = 1 + pick(6);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = pick(text.size() + 1);
    switch (pick(5)) {
      case 0:
        text.insert(at, kTokens[pick(std::size(kTokens))]);
        break;
      case 1:
        text.erase(at, 1 + pick(8));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random() % 256);
        break;
      case 3:
        text.insert(at, text.substr(pick(text.size()), pick(40)));
        break;
      default: {
        const std::string& token = kTokens[pick(std::size(kTokens))];
        std::string run;
        for (std::size_t n = pick(200); n > 0; --n) run += token;
        text.insert(at, run);
      }
    }
  }
  return text;
}

// Returns the printed text if it does not read back equal.
std::string round_trip_fault(const Value& value) {
  const std::string printed = to_yaml(value);
  try {
    if (parse_yaml(printed, "printed") == value) return "";
  } catch (const titan::UserError& error) {
    return titan::text(error.what(), '\n', printed);
  }
  return printed;
}

}  // namespace

TEST_CASE("the texts that are mutated are valid before", "[unit]") {
  for (const std::string& text : seeds()) {
    CHECK_NOTHROW(parse_yaml(text, "m.yaml"));
  }
}

TEST_CASE("mutated recipes end in a value or a user error (seed 20261130)",
          "[unit]") {
  std::mt19937 random(kSeed);
  const SchemaRegistry registry = make_test_registry();
  std::size_t num_accepted = 0;
  std::size_t num_refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = mutate(seeds()[random() % seeds().size()], random);
    try {
      const Value value = parse_yaml(text, "m.yaml");
      ++num_accepted;
      CHECK(round_trip_fault(value) == "");
      std::vector<Problem> problems;
      ValidationScope scope;
      scope.registry = &registry;
      validate(registry.root(), value, "", scope, problems);
      throw_if_any(problems);
    } catch (const titan::UserError&) {
      ++num_refused;
    }
  }
  // Both kinds must occur, or the mutations test nothing.
  CHECK(num_accepted > 100);
  CHECK(num_refused > 100);
}

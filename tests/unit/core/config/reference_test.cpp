// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/reference.h"

#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "core/config/recipe_schema.h"

using namespace titan::config;

TEST_CASE("docs/recipes.md is what the schema says", "[unit]") {
  std::ifstream stream(TITAN_SOURCE_DIR "/docs/recipes.md");
  const std::string committed{std::istreambuf_iterator<char>(stream), {}};
  // If this differs: titan config schema --markdown > docs/recipes.md
  CHECK(committed == write_reference(make_core_registry().root()));
}

TEST_CASE("the reference page has a row for every key", "[unit]") {
  const SchemaRegistry registry = make_core_registry();
  const std::string page = write_reference(registry.root());
  for (const KeyDescription& key : list_keys(registry.root())) {
    const bool is_section = registry.root().property(key.path) != nullptr;
    INFO(key.path);
    if (is_section) {
      const bool is_shown = page.find("### " + key.path + "\n") != page.npos ||
                            page.find("| `" + key.path + "` |") != page.npos;
      CHECK(is_shown);
    } else {
      CHECK(page.find("| `" + key.path + "` |") != page.npos);
    }
  }
}

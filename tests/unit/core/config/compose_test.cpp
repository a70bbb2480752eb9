// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "tests/unit/core/config/recipe_fixture.h"

using namespace titan::config;
using Catch::Contains;

namespace {

std::string compose_json(const std::string& file) {
  return compose_recipe(file, {}, make_core_registry().root()).root.to_json();
}

}  // namespace

TEST_CASE("extended files merge in order and the file wins", "[unit]") {
  const RecipeFolder folder;
  folder.write("a.yaml",
               "training: {steps: 1, seed: 1}\ndata: {files: [x, y]}\n");
  folder.write("sub/b.yaml", "extends: [../a.yaml]\ntraining: {steps: 2}\n");
  folder.write("c.yaml", "training: {seq_len: 3, seed: 3}\n");
  const std::string file =
      folder.write("r.yaml",
                   "extends: [sub/b.yaml, c.yaml]\n"
                   "training: {seq_len: 9}\ndata: {files: [z]}\n");
  CHECK(
      compose_json(file) ==
      R"({"data":{"files":["z"]},"training":{"seed":3,"seq_len":9,"steps":2}})");
  const Composition composed =
      compose_recipe(file, {}, make_core_registry().root());
  CHECK(composed.files.size() == 4);
  CHECK(composed.name == "r");
  CHECK_THAT(composed.root.at_path("training.steps")->origin().describe(),
             Contains("sub/b.yaml:2:"));
}

TEST_CASE("a circle of extends shows the chain", "[unit]") {
  const RecipeFolder folder;
  folder.write("a.yaml", "extends: [b.yaml]\n");
  const std::string file =
      folder.write("b.yaml", "name: x\nextends: [a.yaml]\n");
  CHECK_THROWS_WITH(compose_json(file),
                    Contains("a.yaml:1:11: [extends] files extend each other "
                             "in a circle: ") &&
                        Contains("b.yaml -> ") && Contains("a.yaml -> "));
  const std::string self = folder.write("s.yaml", "extends: [./s.yaml]\n");
  CHECK_THROWS_WITH(compose_json(self), Contains("in a circle"));
}

TEST_CASE("extends that cannot be followed is an error at its line", "[unit]") {
  const RecipeFolder folder;
  CHECK_THROWS_WITH(
      compose_json(folder.write("r.yaml", "extends: [nope.yaml]\n")),
      Contains("r.yaml:1:11: [extends] file does not exist"));
  CHECK_THROWS_WITH(compose_json(folder.write("r.yaml", "extends: a.yaml\n")),
                    Contains("expected a list of files"));
  CHECK_THROWS_WITH(compose_json(folder.write("r.yaml", "extends: [3]\n")),
                    Contains("expected a list of files"));
  CHECK_THROWS_WITH(compose_json(folder.write("r.yaml", "- 1\n")),
                    Contains("file holds no map"));
}

TEST_CASE("a diamond of files is no circle", "[unit]") {
  const RecipeFolder folder;
  folder.write("root.yaml", "name: n\n");
  folder.write("a.yaml", "extends: [root.yaml]\n");
  folder.write("b.yaml", "extends: [root.yaml]\n");
  const std::string file =
      folder.write("r.yaml", "extends: [a.yaml, b.yaml]\n");
  CHECK(compose_json(file) == R"({"name":"n"})");
}

TEST_CASE("a ladder of diamonds does not take forever", "[unit]") {
  const RecipeFolder folder;
  folder.write("l0.yaml", "name: n\n");
  for (int i = 1; i < 15; ++i) {
    const std::string below = titan::text("l", i - 1, ".yaml");
    folder.write(titan::text("l", i, ".yaml"),
                 titan::text("extends: [", below, ", ", below, "]\n"));
  }
  CHECK_THROWS_WITH(compose_json(folder.path() + "/l14.yaml"),
                    Contains("too many files"));
}

TEST_CASE("a layer cannot change a map into a number", "[unit]") {
  const RecipeFolder folder;
  folder.write("a.yaml", "training: {steps: 1}\n");
  const std::string file =
      folder.write("r.yaml", "extends: [a.yaml]\ntraining: 3\n");
  CHECK_THROWS_WITH(compose_json(file),
                    Contains("r.yaml:2:11: [training] value changes its type: "
                             "expected map as in ") &&
                        Contains("a.yaml:1:11, got integer 3"));
}

TEST_CASE("null in a layer takes back what a lower one said", "[unit]") {
  const RecipeFolder folder;
  folder.write("a.yaml", "kernels: {titan.x/1: {use: k}}\nname: a\n");
  const std::string file = folder.write(
      "r.yaml", "extends: [a.yaml]\nkernels: null\nname: ~\n" + kMinimalRecipe);
  const Recipe recipe = load_recipe(file, {}, make_test_registry());
  CHECK(recipe.string("name") == "r");
  CHECK(recipe.root().find("kernels")->as_map().empty());
}

// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/print.h"

#include <catch2/catch.hpp>

#include "core/config/document.h"
#include "tests/unit/core/config/recipe_fixture.h"

using namespace titan::config;
using Catch::Contains;

TEST_CASE("printed YAML reads back equal", "[unit]") {
  const Value value = Value::from_json(
      R"({"a":{"b":[1,2.0,"x"],"c":[]},"d":{},"e":"no","f":"1e3","g":"",
          "h":"a: b # c","i":"line\nbreak\u007f\u0001","j":null,"k":true,
          "l":[{"m":1},[{"n":[]}]],"o":"true","p":"~","q":"1e999","r":"0x1F",
          "titan.x/1":{"use":"acme"},"with space":1,"-":2,"s":"\"'",
          "long":["aaaaaaaaaaaaaaaaaaaaaaaaaaaa","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
                  "cccccccccccccccccccccccc"],"u":"\u00e9"})",
      "test");
  const std::string yaml = to_yaml(value);
  INFO(yaml);
  CHECK(parse_yaml(yaml, "printed").to_json() == value.to_json());
  CHECK(parse_yaml(to_yaml(value, true), "printed").to_json() ==
        value.to_json());
}

TEST_CASE("a resolved recipe resolves to itself", "[unit]") {
  const Recipe recipe = load_text(
      kMinimalRecipe, {"precision=bf16", "kernels.titan.rms_norm/1=acme.x"});
  const Recipe again = load_text(to_yaml(recipe.root()));
  CHECK(again.root().to_json() == recipe.root().to_json());
  const Recipe from_json = load_text(recipe.root().to_json());
  CHECK(from_json.root().to_json() == recipe.root().to_json());
}

TEST_CASE("printing with origins says where each value came from", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe, {"training.seed=3"});
  const std::string yaml = to_yaml(recipe.root(), true);
  CHECK_THAT(yaml, Contains("  seed: 3  # --set #1\n"));
  CHECK_THAT(yaml,
             Contains("    dim: 256  # flavor debugmodel of test.llama\n"));
  CHECK_THAT(yaml, Contains("r.yaml:3:19\n"));
}

TEST_CASE("a key is explained with value, origin and meaning", "[unit]") {
  const Recipe recipe = load_text(kMinimalRecipe, {"training.seed=3"});
  const SchemaRegistry registry = make_test_registry();
  CHECK(
      explain_key(recipe, registry, "training.seed") ==
      "training.seed\n"
      "  value    3\n"
      "  from     --set #1\n"
      "  type     integer\n"
      "  range    at least 0\n"
      "  default  0\n"
      "  meaning  decides initialisation, data order, dropout and sampling\n");
  const std::string lr = explain_key(recipe, registry, "optimizer.config.lr");
  CHECK_THAT(lr, Contains("value    3e-4") && Contains("more than 0"));
  CHECK_THAT(explain_key(recipe, registry, "kernels.titan.x/1.use"),
             Contains("not set"));
  CHECK_THROWS_WITH(explain_key(recipe, registry, "training.sed"),
                    Contains("Did you mean training.seed?"));
}

// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/recipe_components.h"

#include <string_view>

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace {

titan_str as_str(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

TEST_CASE("a model brings its schema and flavors into recipes", "[unit]") {
  const titan_flavor flavor{
      sizeof flavor, 0, as_str("small"), as_str(R"({"dim": 8})")};
  const titan_flavor* const flavors[] = {&flavor};
  titan_model_table table{};
  table.flavors = flavors;
  table.num_flavors = 1;
  titan::plugin::Component component;
  component.kind = "titan.model/1";
  component.id = "acme.model";
  component.config_schema =
      R"({"type": "object", "properties": {"dim": {"type": "integer"}}})";
  component.table = &table;

  titan::config::SchemaRegistry registry;
  titan::plugin::add_recipe_component(component, registry);
  const auto* found = registry.find("model", "acme.model");
  REQUIRE(found != nullptr);
  CHECK(found->flavor("small")->to_json() == R"({"dim":8})");
  CHECK(found->flavor("large") == nullptr);
  CHECK(found->schema.property("dim") != nullptr);
}

TEST_CASE("a component without a schema takes no options", "[unit]") {
  titan::plugin::Component component;
  component.kind = "titan.optimizer/1";
  component.id = "acme.sgd";
  titan::config::SchemaRegistry registry;
  titan::plugin::add_recipe_component(component, registry);
  CHECK(registry.find("optimizer", "acme.sgd")->schema.properties.empty());
}

TEST_CASE("a component with a schema that cannot be meant is refused",
          "[unit]") {
  titan::plugin::Component component;
  component.kind = "titan.optimizer/1";
  component.id = "acme.bad";
  component.config_schema = R"({"type": "float"})";
  titan::config::SchemaRegistry registry;
  CHECK_THROWS_WITH(titan::plugin::add_recipe_component(component, registry),
                    Catch::Contains("[acme.bad] SCHEMA_INVALID (507)"));
}

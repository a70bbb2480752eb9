// SPDX-License-Identifier: BSD-3-Clause
// A plugin library opened by path for tests, without the loader's checks.
#pragma once

#include <string>

#include <dlfcn.h>

#include <titan/sdk/host.hpp>

#include "core/config/component_config.h"
#include "core/config/validate.h"
#include "tests/unit/plugin_api/symbolic_host.h"

namespace symbolic {

/// Never unmapped: objects of its classes may outlive a test's scope.
class LoadedPlugin {
 public:
  /// `file` relative to the build tree.
  explicit LoadedPlugin(const std::string& file)
      : path(std::string(TITAN_BINARY_DIR "/") + file) {
    titan::detail::set_host(&host_api());  // for the test's own SDK calls
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw titan::BugError(dlerror());
    const auto entry = reinterpret_cast<titan_plugin_entry_fn>(
        dlsym(library, "titan_plugin_entry_v1"));
    description.struct_size = sizeof(description);
    titan::detail::HostError error;
    titan::detail::check(entry(&host_api(), &description, error), error);
  }
  const titan_component& component() const {
    return *description.components[0];
  }
  template <typename Table>
  const Table& table() const {
    return *static_cast<const Table*>(component().table);
  }
  /// `json` over the schema's defaults; UserError as the recipe would give.
  titan::config::ComponentConfig config(const std::string& json) const {
    const auto schema = titan::config::parse_schema(
        titan::detail::view(component().config_schema), "schema");
    std::vector<titan::config::Problem> problems;
    auto value = validate(schema,
                          titan::config::Value::from_json(json, "test"),
                          "model",
                          {},
                          problems);
    TITAN_USER_CHECK(problems.empty(), "config does not fit the schema");
    return {std::move(value), "model"};
  }

  std::string path;
  titan_plugin description{};
};

}  // namespace symbolic

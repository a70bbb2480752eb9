// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/inspection.h"

#include <catch2/catch.hpp>

#include <titan/abi.h>

TEST_CASE("the host's reader finds plugins written with the SDK usable",
          "[unit]") {
  titan::plugin::HostFacts host;
  host.abi_major = TITAN_ABI_MAJOR;
  host.abi_minor = TITAN_ABI_MINOR;
  host.has_symbol = [](const std::string&) { return false; };
  const std::pair<const char*, const char*> plugins[] = {
      {"plugins/libtitan_llama3.so", "titan.llama3"},
      {"plugins/libtitan_adamw.so", "titan.adamw"},
      {"tests/abi/written_with_sdk/libexample_swiglu.so", "acme.swiglu_cpu"},
  };
  for (const auto& [file, id] : plugins) {
    const auto inspection = titan::plugin::inspect_plugin_file(
        std::string(TITAN_BINARY_DIR "/") + file,
        host,
        titan::plugin::Trust::kIgnored);
    INFO(file << ": " << inspection.problem_text());
    CHECK(inspection.is_usable());
    REQUIRE(inspection.manifest);
    REQUIRE(inspection.manifest->components.size() == 1);
    CHECK(inspection.manifest->components[0].id == id);
    CHECK(titan::plugin::resident_reasons(*inspection.elf).empty());
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// The entry lets a C++ exception out.
#include <stdexcept>

#include "planner.h"

MANIFEST_NOTE(MANIFEST("test.throwing", "test.throwing.planner", 1, 0, 0, ""));

extern "C" EXPORT int32_t titan_plugin_entry_v1(const titan_host_api*,
                                                titan_plugin*,
                                                titan_error*) {
  throw std::runtime_error("acme cannot start");
}

// SPDX-License-Identifier: BSD-3-Clause
// The least a plugin can be: it registers no component.
#include <titan/abi.h>
#include <titan/sdk.hpp>

extern "C" __attribute__((visibility("default"))) int32_t
titan_plugin_entry_v1(const titan_host_api*, titan_plugin* out, titan_error*) {
  out->num_components = 0;
  return 0;
}

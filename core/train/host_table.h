// SPDX-License-Identifier: BSD-3-Clause
// The one titan_host_api of this process: every table that plugins see.
#pragma once

#include <titan/abi.h>

namespace titan::train {

/// Static; abi_minor is the host's own (the loader lowers it per plugin).
const titan_host_api& host_table();

}  // namespace titan::train

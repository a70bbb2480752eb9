// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/no_sync_check.h"

#include <algorithm>
#include <array>

#include <titan/error.h>

namespace titan::dispatch {
namespace {

// Ops whose result or output shape needs the values on the host.
constexpr std::array<std::string_view, 7> kReadingOps = {
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::equal",
    "aten::is_nonzero",
    "aten::bincount"};

}  // namespace

void NoSyncCheck::call(const c10::OperatorHandle& op,
                       c10::DispatchKeySet keys,
                       torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  if (std::find(kReadingOps.begin(), kReadingOps.end(), name) !=
      kReadingOps.end())
    throw BugError(text(
        "[no sync] ",
        name,
        " waits for the device inside a step: expected the value to stay in a "
        "tensor"));
  call_next(op, keys, stack);
}

}  // namespace titan::dispatch

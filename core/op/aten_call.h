// SPDX-License-Identifier: BSD-3-Clause
// Host side of titan_op_api.aten_resolve and aten_call: any ATen op by schema
// name, arguments checked against the schema. Replaces LibTorch's stable
// torch_call_dispatcher, which has no Scalar, checks no arity and leaks.
#pragma once

#include <titan/abi/host.h>

namespace titan::op {

/// titan_op_api.aten_resolve. Handles are cached and live for ever. [thread:
/// any]
int32_t aten_resolve(titan_str name, titan_aten_op** out, titan_error* error);

/// titan_op_api.aten_call. [thread: any]
int32_t aten_call(titan_aten_op* op,
                  const titan_value* args,
                  uint32_t num_args,
                  titan_value* results,
                  uint32_t num_results,
                  titan_error* error);

}  // namespace titan::op

// SPDX-License-Identifier: BSD-3-Clause
// The precision policy: which dtype each role of a number has. No autocast: a
// tensor has the dtype that the table says.
#pragma once

#include <string_view>

#include <c10/core/ScalarType.h>

namespace titan::parallel {

struct Precision {
  c10::ScalarType parameter = c10::ScalarType::Float;  // what is optimised
  c10::ScalarType compute = c10::ScalarType::Float;    // forward and backward
  c10::ScalarType reduce = c10::ScalarType::Float;     // gradients, sums
};

/// "fp32", "bf16" (fp32 parameters and reductions, bf16 compute) or "fp64".
/// UserError otherwise; "fp16" is refused with the reason.
Precision precision_of(std::string_view name);

/// acc(bf16, fp16, fp32) = fp32, acc(fp64) = fp64.
c10::ScalarType accumulation_dtype(c10::ScalarType dtype);

}  // namespace titan::parallel

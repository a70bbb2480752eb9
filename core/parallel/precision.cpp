// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/precision.h"

#include <titan/error.h>

namespace titan::parallel {

using c10::ScalarType;

Precision precision_of(std::string_view name) {
  if (name == "fp32")
    return {ScalarType::Float, ScalarType::Float, ScalarType::Float};
  if (name == "bf16")
    return {ScalarType::Float, ScalarType::BFloat16, ScalarType::Float};
  if (name == "fp64")
    return {ScalarType::Double, ScalarType::Double, ScalarType::Double};
  TITAN_USER_CHECK(
      name != "fp16",
      "[precision] fp16: its gradients underflow without loss scaling, which "
      "Titan does not do: expected fp32, bf16 or fp64, got fp16. Use bf16: the "
      "same size with the range of fp32.");
  throw UserError(
      text("[precision] name: expected fp32, bf16 or fp64, got '", name, "'"));
}

ScalarType accumulation_dtype(ScalarType dtype) {
  return dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

}  // namespace titan::parallel

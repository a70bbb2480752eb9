// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/kernels/swiglu/swiglu_cpu.h"

#include "plugins/kernels/simd/gated.h"

namespace titan::kernels {

using activation::Silu;

void SwigluCpu::forward(const Call& call) const {
  if (call.in(0).dtype() == Dtype::kBF16) {
    activation::gated_forward<Silu, BFloat16>(call);
  } else {
    activation::gated_forward<Silu, float>(call);
  }
}

void SwigluCpu::backward(const Call& call) const {
  if (call.in(0).dtype() == Dtype::kBF16) {
    activation::gated_backward<Silu, BFloat16>(call);
  } else {
    activation::gated_backward<Silu, float>(call);
  }
}

}  // namespace titan::kernels

// SPDX-License-Identifier: BSD-3-Clause
// The example of docs/plugins.md: SwiGLU for any CPU, y = silu(gate) * up.
#include <cmath>

#include <titan/sdk.hpp>

struct SwiGlu {
  int score(const titan::Shapes& shapes) const {
    return shapes.in(0).is_contiguous() ? 100 : shapes.refuse("strided input");
  }

  void forward(const titan::Call& call) const {
    const auto* gate = call.in(0).data<float>();
    const auto* up = call.in(1).data<float>();
    auto* y = call.out(0).data<float>();
    titan::parallel_for(
        0, call.in(0).numel(), 4096, [=](int64_t i, int64_t end) {
          for (; i < end; ++i)
            y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        });
  }
};

TITAN_PLUGIN(
    {.name = "acme.swiglu",
     .version = "1.0.0",
     .vendor = "Acme",
     .licence = "BSD-3-Clause"},
    titan::kernel<SwiGlu>("acme.swiglu_cpu",
                          "titan.swiglu/1",
                          {.dtypes = titan::dtypes(titan::Dtype::kF32)},
                          "plain SwiGLU, fp32"))

// SPDX-License-Identifier: BSD-3-Clause
// SwiGLU that is sound, or wrong in the one way that FAULT says: what
// `titan plugin test` must find. CMake builds it once per fault.
#include <atomic>
#include <cmath>
#include <csignal>
#include <limits>

#include <unistd.h>

#include <titan/sdk.hpp>

namespace {

enum class Fault {
  kNone,
  kGradient,       // of `up`, a hundredth too large
  kWritesOutside,  // one element behind the output
  kCrashes,
  kHangs,
  kUnrepeatable,     // one bit differs from call to call
  kRefusesSilently,  // 0 without a reason
  kRefusesAll        // 0 with one
};

constexpr Fault kFault = Fault::FAULT;

float silu(float x) {
  return x / (1 + std::exp(-x));
}

std::atomic<int> num_calls{0};

/// One of two neighbours, in turn.
float unsteady(float value) {
  return num_calls++ % 2 == 0
             ? value
             : std::nextafter(value, std::numeric_limits<float>::infinity());
}

}  // namespace

struct FaultySwiGlu {
  int score(const titan::Shapes& shapes) const {
    if (kFault == Fault::kRefusesSilently) return 0;
    if (kFault == Fault::kRefusesAll) return shapes.refuse("no shape suits");
    return 100;
  }

  void forward(const titan::Call& call) const {
    const auto* gate = call.in(0).data<float>();
    const auto* up = call.in(1).data<float>();
    auto* y = call.out(0).data<float>();
    const int64_t count = call.in(0).numel();
    for (int64_t i = 0; i < count; ++i) y[i] = silu(gate[i]) * up[i];
    if (count == 0) return;
    if (kFault == Fault::kWritesOutside) y[count] = 1;
    if (kFault == Fault::kUnrepeatable) y[0] = unsteady(y[0]);
    if (kFault == Fault::kCrashes) ::raise(SIGSEGV);
    while (kFault == Fault::kHangs) ::pause();
  }

  void backward(const titan::Call& call) const {
    const auto* gate = call.in(0).data<float>();
    const auto* up = call.in(1).data<float>();
    const auto* grad = call.grad_out(0).data<float>();
    const int64_t count = call.in(0).numel();
    const float factor = kFault == Fault::kGradient ? 1.01f : 1.0f;
    for (int64_t i = 0; i < count; ++i) {
      const float sigmoid = 1 / (1 + std::exp(-gate[i]));
      if (call.wants(0))
        call.out(0).data<float>()[i] =
            grad[i] * up[i] * sigmoid * (1 + gate[i] * (1 - sigmoid));
      if (call.wants(1))
        call.out(1).data<float>()[i] = factor * grad[i] * silu(gate[i]);
    }
  }
};

TITAN_PLUGIN(
    {.name = NAME,
     .version = "1.0.0",
     .vendor = "Test",
     .licence = "BSD-3-Clause"},
    titan::kernel<FaultySwiGlu>(NAME,
                                "titan.swiglu/1",
                                {.dtypes = titan::dtypes(titan::Dtype::kF32),
                                 .flags = TITAN_KERNEL_DETERMINISTIC |
                                          TITAN_KERNEL_NEEDS_CONTIGUOUS},
                                "SwiGLU with or without a fault"))

// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/kernels/activation/activation_cpu.h"

#include <algorithm>
#include <iterator>

#include "plugins/kernels/simd/gated.h"

namespace titan::kernels {
namespace {

using namespace activation;

struct Passes {
  void (*forward)(const Call& call);
  void (*backward)(const Call& call);
};

struct Row {
  std::string_view name;
  Passes in_f32, in_bf16;
};

template <typename F>
constexpr Row row_of(std::string_view name) {
  return {name,
          {gated_forward<F, float>, gated_backward<F, float>},
          {gated_forward<F, BFloat16>, gated_backward<F, BFloat16>}};
}

constexpr Row kFunctions[] = {row_of<Silu>("silu"),
                              row_of<Gelu>("gelu"),
                              row_of<GeluTanh>("gelu_tanh"),
                              row_of<GeluQuick>("gelu_quick"),
                              row_of<Relu>("relu"),
                              row_of<ReluSquared>("relu_squared")};

const Passes& passes_of(const Call& call) {
  const std::string_view name =
      call.attributes().get("function", std::string_view("gelu"));
  const auto* const row = std::find_if(
      std::begin(kFunctions), std::end(kFunctions), [&](const Row& each) {
        return each.name == name;
      });
  TITAN_CHECK(row != std::end(kFunctions),
              "[titan.activation/1] function: expected one of six, got ",
              name);
  return call.in(0).dtype() == Dtype::kBF16 ? row->in_bf16 : row->in_f32;
}

}  // namespace

int ActivationCpu::score(const Shapes& shapes) const {
  const bool is_gelu =
      shapes.attributes().get("function", std::string_view("gelu")) == "gelu";
  if (is_gelu && !shapes.has(1) && shapes.in(0).dtype() == Dtype::kBF16)
    return shapes.refuse("gelu alone in bf16, where the reference is faster");
  return 500;
}

void ActivationCpu::forward(const Call& call) const {
  passes_of(call).forward(call);
}

void ActivationCpu::backward(const Call& call) const {
  passes_of(call).backward(call);
}

}  // namespace titan::kernels

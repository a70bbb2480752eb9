// SPDX-License-Identifier: BSD-3-Clause
// titan.activation/1: y = f(x), or f(x) * up for a gated feed-forward. f(x) is
// rounded to the dtype before the product, as PyTorch's f(x) * up does. Gated
// silu has its own op, titan.swiglu/1, which kernels know best.
#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kUp };

constexpr double kQuickSlope = 1.702;  // arXiv 1606.08415, section 2

at::Tensor quick(const at::Tensor& x) {
  return at::sigmoid(x * kQuickSlope) * x;
}

at::Tensor quick_backward(const at::Tensor& grad, const at::Tensor& x) {
  const at::Tensor s = at::sigmoid(x * kQuickSlope);
  return grad * (s + kQuickSlope * x * s * (1 - s));
}

struct Function {
  std::string_view name;
  at::Tensor (*apply)(const at::Tensor& x);
  at::Tensor (*backward)(const at::Tensor& grad, const at::Tensor& x);
};

constexpr std::array<Function, 6> kFunctions = {{
    {"silu",
     [](const at::Tensor& x) { return at::silu(x); },
     [](const at::Tensor& grad, const at::Tensor& x) {
       return at::silu_backward(grad, x);
     }},
    {"gelu",
     [](const at::Tensor& x) { return at::gelu(x, "none"); },
     [](const at::Tensor& grad, const at::Tensor& x) {
       return at::gelu_backward(grad, x, "none");
     }},
    {"gelu_tanh",
     [](const at::Tensor& x) { return at::gelu(x, "tanh"); },
     [](const at::Tensor& grad, const at::Tensor& x) {
       return at::gelu_backward(grad, x, "tanh");
     }},
    {"gelu_quick", quick, quick_backward},
    {"relu",
     [](const at::Tensor& x) { return at::relu(x); },
     [](const at::Tensor& grad, const at::Tensor& x) {
       return grad * x.gt(0).to(grad.scalar_type());
     }},
    {"relu_squared",
     [](const at::Tensor& x) { return at::relu(x).square(); },
     [](const at::Tensor& grad, const at::Tensor& x) {
       return grad * at::relu(x) * 2;
     }},
}};

const Function& function_of(const Attributes& attributes) {
  const std::string& name = attributes.get_string("function");
  const auto* const found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const auto& f) {
        return f.name == name;
      });
  TITAN_USER_CHECK(found != kFunctions.end(),
                   "function: expected silu, gelu, gelu_tanh, gelu_quick, relu "
                   "or relu_squared, got ",
                   name);
  return *found;
}

Shapes shape(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  function_of(attributes);
  expect_floating(in[kX], "x");
  if (in[kUp].is_defined) {
    expect_dtype(in[kUp], "up", in[kX].dtype);
    TITAN_USER_CHECK(in[kUp].sizes == in[kX].sizes,
                     "up shape: expected that of x ",
                     in[kX].sizes,
                     ", got ",
                     in[kUp].sizes);
  }
  return {{in[kX]}, {}};
}

ForwardResult forward(const ForwardCall& call) {
  at::Tensor y = function_of(call.attributes).apply(call.inputs[kX]);
  if (call.inputs[kUp].defined()) y.mul_(call.inputs[kUp]);
  return {{y}, {}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const Function& function = function_of(call.attributes);
  const at::Tensor& grad = call.grad_outputs[0];
  const at::Tensor& up = call.inputs[kUp];
  std::vector<at::Tensor> grads(2);
  if (call.want & 1 << kX)
    grads[kX] =
        function.backward(up.defined() ? grad * up : grad, call.inputs[kX]);
  if (call.want & 1 << kUp)
    grads[kUp] = function.apply(call.inputs[kX]).mul_(grad);
  return grads;
}

double flops(const Attributes&, const std::vector<TensorMeta>& in) {
  return 5.0 * static_cast<double>(in[kX].num_elements());
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          std::string_view function,
                          bool is_gated) {
  return {std::move(name),
          {{"function", std::string(function)}},
          [=](at::ScalarType dtype, uint64_t seed) {
            std::vector<at::Tensor> inputs(2);
            inputs[kX] = random_normal(sizes, dtype, seed);
            if (is_gated) inputs[kUp] = random_normal(sizes, dtype, seed + 1);
            return inputs;
          }};
}

std::vector<ConformanceCase> make_cases() {
  std::vector<ConformanceCase> cases;
  for (const Function& function : kFunctions) {
    const std::string name(function.name);
    cases.push_back(make_case(name, {7, 13}, name, false));
    cases.push_back(make_case("gated " + name, {2, 3, 65}, name, true));
  }
  cases.push_back(make_case("several tasks", {331, 211}, "gelu", false));
  cases.push_back(make_case("no rows", {0, 8}, "gelu", true));
  return cases;
}

}  // namespace

OpSpec activation_spec() {
  OpSpec spec;
  spec.id = "titan.activation/1";
  spec.formula = "y = f(x) * up, without up y = f(x)";
  spec.inputs = {{"x"}, {"up", true}};
  spec.outputs = {{"y"}};
  spec.attributes = {{"function",
                      std::string("gelu"),
                      "silu | gelu | gelu_tanh | gelu_quick | relu | "
                      "relu_squared"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.tolerances = rounding_tolerances(
      16,
      "up to five roundings of the dtype in gelu_quick's gradient; slack 3");
  spec.cases = make_cases;
  return spec;
}

}  // namespace titan::op::reference

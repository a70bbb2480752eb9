// SPDX-License-Identifier: BSD-3-Clause
// titan.adamw/1: the AdamW update, decoupled decay, in place. lr and step are
// tensors, so that a captured step follows the schedule. For conformance of
// optimizer kernels; training uses an optimizer plugin.
#include <cmath>

#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kParam, kGrad, kMean, kSquare, kLr, kStep };

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kParam], "param");
  constexpr const char* kNames[] = {"param", "grad", "exp_avg", "exp_avg_sq"};
  for (int i = kGrad; i <= kSquare; ++i) {
    TITAN_USER_CHECK(in[i].sizes == in[kParam].sizes,
                     kNames[i],
                     " shape: expected that of param ",
                     in[kParam].sizes,
                     ", got ",
                     in[i].sizes);
  }
  for (int i = kLr; i <= kStep; ++i)
    TITAN_USER_CHECK(in[i].num_elements() == 1,
                     i == kLr ? "lr" : "step",
                     ": expected one element, got ",
                     in[i].num_elements());
  return {};
}

ForwardResult forward(const ForwardCall& call) {
  const double beta1 = call.attributes.get_double("beta1");
  const double beta2 = call.attributes.get_double("beta2");
  const double eps = call.attributes.get_double("eps");
  const double decay = call.attributes.get_double("weight_decay");
  at::Tensor param = call.inputs[kParam];
  at::Tensor mean = call.inputs[kMean];
  at::Tensor square = call.inputs[kSquare];
  const at::Tensor grad = call.inputs[kGrad].to(mean.scalar_type());
  const at::Tensor lr = call.inputs[kLr].to(at::kDouble).reshape({});
  const at::Tensor step = call.inputs[kStep].to(at::kDouble).reshape({});
  const at::Tensor correction1 = 1 - at::pow(beta1, step);
  const at::Tensor correction2 = 1 - at::pow(beta2, step);
  param.mul_(1 - lr * decay);
  mean.lerp_(grad, 1 - beta1);
  square.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  const at::Tensor denominator =
      square.sqrt().div_(correction2.sqrt()).add_(eps);
  param.sub_(mean.div(denominator).mul_(lr / correction1));
  return {};
}

ConformanceCase make_case(std::string name, std::vector<int64_t> sizes) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            const auto scalar = [](double value) {
              return at::scalar_tensor(value, at::kDouble);
            };
            return std::vector<at::Tensor>{
                random_normal(sizes, dtype, seed),
                random_normal(sizes, dtype, seed + 1),
                random_normal(sizes, dtype, seed + 2),
                random_normal(sizes, dtype, seed + 3).square_(),
                scalar(1e-3),
                scalar(3)};
          }};
}

}  // namespace

OpSpec adamw_spec() {
  OpSpec spec;
  spec.id = "titan.adamw/1";
  spec.formula =
      "param *= 1 - lr * weight_decay; m = beta1 m + (1 - beta1) g; v = beta2 "
      "v "
      "+ (1 - beta2) g^2; param -= lr * m / (1 - beta1^step) / (sqrt(v / (1 - "
      "beta2^step)) + eps)";
  const auto mutated = [](const char* name) {
    return InputSpec{name, false, false, false, true};
  };
  const auto constant = [](const char* name) {
    return InputSpec{name, false, false, false, false};
  };
  spec.inputs = {mutated("param"),
                 constant("grad"),
                 mutated("exp_avg"),
                 mutated("exp_avg_sq"),
                 constant("lr"),
                 constant("step")};
  spec.attributes = {{"beta1", 0.9, "decay of the mean"},
                     {"beta2", 0.95, "decay of the mean square"},
                     {"eps", 1e-8, "added to the root"},
                     {"weight_decay", 0.1, "decoupled, per unit of lr"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 12.0 * static_cast<double>(in[kParam].num_elements());
  };
  spec.tolerances =
      rounding_tolerances(16, "ten roundings of the update; slack 1.6");
  spec.cases = [] {
    return std::vector<ConformanceCase>{make_case("prime sizes", {7, 13}),
                                        make_case("empty", {0})};
  };
  return spec;
}

}  // namespace titan::op::reference

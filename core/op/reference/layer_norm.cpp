// SPDX-License-Identifier: BSD-3-Clause
// titan.layer_norm/1 over the last dim. Statistics in acc(dtype): LibTorch's
// CPU kernel keeps them in bf16 when all is bf16, hence the conversions here.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kWeight, kBias };

at::Tensor maybe_to(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.defined() ? tensor.to(dtype) : tensor;
}

std::optional<at::Tensor> optional_of(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  TITAN_USER_CHECK(in[kX].num_dims() >= 1,
                   "x: expected a last dim, got a scalar");
  for (const Input which : {kWeight, kBias}) {
    if (!in[which].is_defined) continue;
    const char* name = which == kWeight ? "weight" : "bias";
    expect_num_dims(in[which], name, 1);
    expect_dim(in[which], name, 0, in[kX].sizes.back());
  }
  auto stat_sizes = in[kX].sizes;
  stat_sizes.back() = 1;
  const TensorMeta stat =
      in[kX].like(acc_type(in[kX].dtype), std::move(stat_sizes));
  return {{in[kX]}, {stat, stat}};
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor& x = call.inputs[kX];
  const auto acc = acc_type(x.scalar_type());
  auto [y, mean, rstd] =
      at::native_layer_norm(x.to(acc),
                            {x.size(-1)},
                            optional_of(maybe_to(call.inputs[kWeight], acc)),
                            optional_of(maybe_to(call.inputs[kBias], acc)),
                            call.attributes.get_double("eps"));
  return {{y.to(x.scalar_type())}, {mean, rstd}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& x = call.inputs[kX];
  const auto acc = acc_type(x.scalar_type());
  const auto wants = [&call](Input input) {
    return (call.want >> input & 1) != 0;
  };
  auto [grad_x, grad_weight, grad_bias] = at::native_layer_norm_backward(
      call.grad_outputs[0].to(acc).contiguous(),
      x.to(acc).contiguous(),
      {x.size(-1)},
      call.saved[0],
      call.saved[1],
      optional_of(maybe_to(call.inputs[kWeight], acc)),
      optional_of(maybe_to(call.inputs[kBias], acc)),
      {wants(kX), wants(kWeight), wants(kBias)});
  std::vector<at::Tensor> grads(3);
  if (wants(kX)) grads[kX] = grad_x.to(x.scalar_type());
  if (wants(kWeight))
    grads[kWeight] = grad_weight.to(call.inputs[kWeight].scalar_type());
  if (wants(kBias))
    grads[kBias] = grad_bias.to(call.inputs[kBias].scalar_type());
  return grads;
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          bool has_parameters) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            std::vector<at::Tensor> inputs(3);
            inputs[kX] = random_normal(sizes, dtype, seed);
            if (has_parameters) {
              inputs[kWeight] = random_normal({sizes.back()}, dtype, seed + 1);
              inputs[kBias] = random_normal({sizes.back()}, dtype, seed + 2);
            }
            return inputs;
          }};
}

}  // namespace

OpSpec layer_norm_spec() {
  OpSpec spec;
  spec.id = "titan.layer_norm/1";
  spec.formula =
      "y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, last dim";
  spec.inputs = {{"x"}, {"weight", true}, {"bias", true}};
  spec.outputs = {{"y"}};
  spec.saved = {"mean", "rstd"};
  spec.attributes = {{"eps", 1e-5, "added to the variance, inside the root"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.tolerances = rounding_tolerances(
      16, "one rounding of y; the variance of 13 features cancels up to 8x");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        make_case("prime sizes", {7, 13}, true),
        make_case("plain", {3, 2, 16}, false),
        make_case("no rows", {0, 8}, true),
        make_case("several tasks", {83, 5, 131}, true)};
  };
  return spec;
}

}  // namespace titan::op::reference

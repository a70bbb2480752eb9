// SPDX-License-Identifier: BSD-3-Clause
// titan.rms_norm/1: x over the root of its mean square, times a weight.
// Statistics in acc(dtype): bf16 loses the tail of a sum of squares beyond 256
// addends. eps stands inside the root.
// cast_before_weight: x * rstd is rounded to the dtype before the weight
// multiplies it (Hugging Face's Llama order), else after (PyTorch's).
// Legend: ... leading dims, D features; names without suffix are [..., D].
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kWeight };

/// The factor in acc(dtype): weight, or offset + weight.
at::Tensor weight_in(const Attributes& attributes,
                     const at::Tensor& weight_D,
                     at::ScalarType dtype) {
  const at::Tensor converted = weight_D.to(dtype);
  const int64_t offset = attributes.get_int("offset");
  return offset == 0 ? converted : converted + offset;
}

Shapes shape(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  TITAN_USER_CHECK(in[kX].num_dims() >= 1,
                   "x: expected a last dim, got a scalar");
  const int64_t offset = attributes.get_int("offset");
  TITAN_USER_CHECK(
      offset == 0 || offset == 1, "offset: expected 0 or 1, got ", offset);
  if (in[kWeight].is_defined) {
    expect_num_dims(in[kWeight], "weight", 1);
    expect_floating(in[kWeight], "weight");
    expect_dim(in[kWeight], "weight", 0, in[kX].sizes.back());
  }
  auto stat_sizes = in[kX].sizes;
  stat_sizes.back() = 1;
  const auto acc = acc_type(in[kX].dtype);
  return {{in[kX]}, {in[kX].like(acc, std::move(stat_sizes))}};
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor& x = call.inputs[kX];
  const at::Tensor& weight_D = call.inputs[kWeight];
  const auto acc = acc_type(x.scalar_type());
  const at::Tensor x_acc = x.to(acc);
  at::Tensor y = x_acc * x_acc;
  const at::Tensor rstd =
      y.mean(-1, true).add_(call.attributes.get_double("eps")).rsqrt_();
  at::mul_out(y, x_acc, rstd);
  if (!weight_D.defined()) return {{y.to(x.scalar_type())}, {rstd}};
  if (call.attributes.get_bool("cast_before_weight")) {
    y = y.to(x.scalar_type());
    y.mul_(weight_in(call.attributes, weight_D, x.scalar_type()));
  } else {
    y.mul_(weight_in(call.attributes, weight_D, acc));
  }
  return {{y.to(x.scalar_type())}, {rstd}};
}

/// With n = x * rstd and h = grad * w:  dx = rstd * (h - n * mean(h * n)),
/// dw = sum over rows of grad * n.
std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& x = call.inputs[kX];
  const at::Tensor& weight_D = call.inputs[kWeight];
  const at::Tensor& rstd = call.saved[0];
  const auto acc = rstd.scalar_type();
  const at::Tensor grad = call.grad_outputs[0].to(acc);
  const at::Tensor normed = x.to(acc) * rstd;
  std::vector<at::Tensor> grads(2);
  at::Tensor product = grad * normed;
  if (call.want & 1 << kWeight) {
    grads[kWeight] =
        product.reshape({-1, x.size(-1)}).sum(0).to(weight_D.scalar_type());
  }
  if (!(call.want & 1 << kX)) return grads;
  at::Tensor scaled_grad = grad;
  if (weight_D.defined()) {
    const at::Tensor factor_D = weight_in(call.attributes, weight_D, acc);
    scaled_grad = grad * factor_D;
    product.mul_(factor_D);
  }
  const at::Tensor mean = product.mean(-1, true);
  at::mul_out(product, normed, mean);
  grads[kX] =
      at::sub_out(product, scaled_grad, product).mul_(rstd).to(x.scalar_type());
  return grads;
}

double flops(const Attributes&, const std::vector<TensorMeta>& in) {
  return 4.0 * static_cast<double>(in[kX].num_elements());
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          bool has_weight,
                          Attributes attributes) {
  return {std::move(name),
          std::move(attributes),
          [=](at::ScalarType dtype, uint64_t seed) {
            return std::vector<at::Tensor>{
                random_normal(sizes, dtype, seed),
                has_weight ? random_normal({sizes.back()}, dtype, seed + 1)
                           : at::Tensor()};
          }};
}

}  // namespace

OpSpec rms_norm_spec() {
  OpSpec spec;
  spec.id = "titan.rms_norm/1";
  spec.formula =
      "y = x / sqrt(mean(x^2 over the last dim) + eps) * (offset + weight)";
  spec.inputs = {{"x"}, {"weight", true}};
  spec.outputs = {{"y"}};
  spec.saved = {"rstd"};
  spec.attributes = {
      {"eps", 1e-5, "added to the mean square, inside the root"},
      {"offset", int64_t{0}, "0, or 1 for weights stored around zero (Gemma)"},
      {"cast_before_weight",
       false,
       "round to the dtype before multiplying by weight (Llama of HF)"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.tolerances = rounding_tolerances(
      8, "one rounding of y, two when cast before the weight; slack 4");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        make_case("prime sizes", {7, 13}, true, {}),
        make_case("no weight", {3, 16}, false, {}),
        make_case("offset", {3, 2, 16}, true, {{"offset", int64_t{1}}}),
        make_case("cast first", {5, 32}, true, {{"cast_before_weight", true}}),
        make_case("no rows", {0, 8}, true, {}),
        make_case("several tasks", {83, 5, 131}, true, {}),
        make_case("wide", {2, 4099}, true, {{"offset", int64_t{1}}}),
        // A large eps: with a small one the gradient cancels to nothing.
        make_case("one feature", {4, 1}, true, {{"eps", 0.5}})};
  };
  return spec;
}

}  // namespace titan::op::reference

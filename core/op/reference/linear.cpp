// SPDX-License-Identifier: BSD-3-Clause
// titan.linear/1: y = x W^T + b over the last dim.
// Legend: M rows (all leading dims of x), I input features, O output features.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kWeight, kBias };

at::Tensor as_rows(const at::Tensor& x) {
  return x.dim() == 2 ? x : x.reshape({-1, x.size(-1)});
}

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  TITAN_USER_CHECK(in[kX].num_dims() >= 1,
                   "x: expected a last dim, got a scalar");
  expect_num_dims(in[kWeight], "weight", 2);
  expect_dtype(in[kWeight], "weight", in[kX].dtype);
  expect_dim(in[kX], "x", in[kX].num_dims() - 1, in[kWeight].sizes[1]);
  if (in[kBias].is_defined) {
    expect_num_dims(in[kBias], "bias", 1);
    expect_dim(in[kBias], "bias", 0, in[kWeight].sizes[0]);
  }
  auto sizes = in[kX].sizes;
  sizes.back() = in[kWeight].sizes[0];
  return {{in[kX].like(in[kX].dtype, std::move(sizes))}, {}};
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor& x = call.inputs[kX];
  const at::Tensor& weight_OI = call.inputs[kWeight];
  const at::Tensor& bias_O = call.inputs[kBias];
  const at::Tensor x_MI = as_rows(x);
  at::Tensor y_MO = bias_O.defined() ? at::addmm(bias_O, x_MI, weight_OI.t())
                                     : at::mm(x_MI, weight_OI.t());
  if (x.dim() != 2) {
    auto sizes = x.sizes().vec();
    sizes.back() = weight_OI.size(0);
    y_MO = y_MO.view(sizes);
  }
  return {{std::move(y_MO)}, {}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& x = call.inputs[kX];
  const at::Tensor grad_MO = as_rows(call.grad_outputs[0]);
  std::vector<at::Tensor> grads(3);
  if (call.want & 1 << kX) {
    const at::Tensor grad_MI = at::mm(grad_MO, call.inputs[kWeight]);
    grads[kX] = x.dim() == 2 ? grad_MI : grad_MI.view(x.sizes());
  }
  if (call.want & 1 << kWeight)
    grads[kWeight] = at::mm(grad_MO.t(), as_rows(x));
  if (call.want & 1 << kBias) grads[kBias] = grad_MO.sum(0);
  return grads;
}

double flops(const Attributes&, const std::vector<TensorMeta>& in) {
  return 2.0 * static_cast<double>(in[kX].num_elements()) *
         static_cast<double>(in[kWeight].sizes[0]);
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          int64_t out_features,
                          bool has_bias) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            const int64_t features = sizes.back();
            return std::vector<at::Tensor>{
                random_normal(sizes, dtype, seed),
                random_normal({out_features, features}, dtype, seed + 1),
                has_bias ? random_normal({out_features}, dtype, seed + 2)
                         : at::Tensor()};
          }};
}

}  // namespace

OpSpec linear_spec() {
  OpSpec spec;
  spec.id = "titan.linear/1";
  spec.formula = "y[..., o] = sum_i x[..., i] * weight[o, i] + bias[o]";
  spec.inputs = {{"x"}, {"weight"}, {"bias", true, true, false}};
  spec.outputs = {{"y"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.grad_shapes = [](const Attributes&,
                        const std::vector<TensorMeta>& grad_outputs,
                        const std::vector<TensorMeta>& in) {
    const TensorMeta& grad = grad_outputs[0];
    return std::vector<TensorMeta>{
        in[kX], in[kWeight], grad.like(grad.dtype, {grad.sizes.back()})};
  };
  spec.flops = flops;
  // sqrt(K) growth of rounding in a sum of K terms; K = 257 in the cases.
  spec.tolerances = rounding_tolerances(
      8, "random-walk bound sqrt(257)/2 ulp of the largest case");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        make_case("prime rows and features", {7, 13}, 11, false),
        make_case("bias", {5, 8}, 3, true),
        make_case("three dims", {2, 3, 8}, 4, true),
        make_case("no rows", {0, 8}, 4, true),
        make_case("one row, 257 features", {1, 257}, 31, false)};
  };
  return spec;
}

}  // namespace titan::op::reference

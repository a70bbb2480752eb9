// SPDX-License-Identifier: BSD-3-Clause
// titan.grouped_linear/1: one linear layer per expert over rows sorted by
// expert (moe_dispatch.cpp). No padding: an expert has as many rows as tokens
// chose it, or none, and then its weight's gradient is zero. Legend: R rows, E
// experts, I input features, O output features.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kOffsets, kWeight, kBias };

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  expect_num_dims(in[kX], "x", 2);
  expect_num_dims(in[kWeight], "weight", 3);
  expect_dtype(in[kWeight], "weight", in[kX].dtype);
  expect_dim(in[kX], "x", 1, in[kWeight].sizes[2]);
  const int64_t num_experts = in[kWeight].sizes[0];
  expect_integer(in[kOffsets], "offsets");
  expect_num_dims(in[kOffsets], "offsets", 1);
  expect_dim(in[kOffsets], "offsets", 0, num_experts + 1);
  if (in[kBias].is_defined) {
    expect_num_dims(in[kBias], "bias", 2);
    expect_dim(in[kBias], "bias", 0, num_experts);
    expect_dim(in[kBias], "bias", 1, in[kWeight].sizes[1]);
  }
  return {{in[kX].like(in[kX].dtype, {in[kX].sizes[0], in[kWeight].sizes[1]})},
          {}};
}

/// Calls body(expert, first row, number of rows) for experts that have any.
/// Elsewhere than on the CPU the offsets are read back: a kernel need not.
template <typename Body>
void each_group(const at::Tensor& offsets, int64_t num_rows, Body body) {
  const at::Tensor host = offsets.to(at::kCPU, at::kLong).contiguous();
  const int64_t* bounds = host.const_data_ptr<int64_t>();
  const int64_t num_experts = host.numel() - 1;
  TITAN_USER_CHECK(bounds[0] == 0 && bounds[num_experts] == num_rows,
                   "[grouped_linear] offsets: expected 0 to ",
                   num_rows,
                   " rows, got ",
                   bounds[0],
                   " to ",
                   bounds[num_experts]);
  for (int64_t expert = 0; expert < num_experts; ++expert) {
    const int64_t count = bounds[expert + 1] - bounds[expert];
    TITAN_USER_CHECK(count >= 0,
                     "[grouped_linear] offsets: expected ascending numbers, "
                     "got ",
                     bounds[expert],
                     " before ",
                     bounds[expert + 1]);
    if (count > 0) body(expert, bounds[expert], count);
  }
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor x_RI = call.inputs[kX].contiguous();
  const at::Tensor& weight_EOI = call.inputs[kWeight];
  const at::Tensor& bias_EO = call.inputs[kBias];
  const int64_t num_rows = x_RI.size(0);
  at::Tensor y_RO = at::empty({num_rows, weight_EOI.size(1)}, x_RI.options());
  each_group(call.inputs[kOffsets],
             num_rows,
             [&](int64_t expert, int64_t first, int64_t count) {
               at::Tensor y = y_RO.narrow(0, first, count);
               const at::Tensor x = x_RI.narrow(0, first, count);
               const at::Tensor weight_IO = weight_EOI.select(0, expert).t();
               if (bias_EO.defined())
                 at::addmm_out(y, bias_EO.select(0, expert), x, weight_IO);
               else
                 at::mm_out(y, x, weight_IO);
             });
  return {{y_RO}, {}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& x_RI = call.inputs[kX];
  const at::Tensor& weight_EOI = call.inputs[kWeight];
  const at::Tensor grad_RO = call.grad_outputs[0].contiguous();
  std::vector<at::Tensor> grads(4);
  if (call.want & 1 << kX) grads[kX] = at::empty(x_RI.sizes(), x_RI.options());
  if (call.want & 1 << kWeight)
    grads[kWeight] = at::zeros(weight_EOI.sizes(), weight_EOI.options());
  if (call.want & 1 << kBias)
    grads[kBias] =
        at::zeros({weight_EOI.size(0), weight_EOI.size(1)}, grad_RO.options());
  each_group(call.inputs[kOffsets],
             grad_RO.size(0),
             [&](int64_t expert, int64_t first, int64_t count) {
               const at::Tensor grad = grad_RO.narrow(0, first, count);
               if (grads[kX].defined()) {
                 at::Tensor out = grads[kX].narrow(0, first, count);
                 at::mm_out(out, grad, weight_EOI.select(0, expert));
               }
               if (grads[kWeight].defined()) {
                 at::Tensor out = grads[kWeight].select(0, expert);
                 at::mm_out(out, grad.t(), x_RI.narrow(0, first, count));
               }
               if (grads[kBias].defined())
                 grads[kBias].select(0, expert).copy_(grad.sum(0));
             });
  return grads;
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> counts,
                          std::array<int64_t, 2> features,
                          bool has_bias) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            std::vector<int64_t> offsets = {0};
            for (const int64_t count : counts)
              offsets.push_back(offsets.back() + count);
            const auto num_experts = static_cast<int64_t>(counts.size());
            return std::vector<at::Tensor>{
                random_normal({offsets.back(), features[0]}, dtype, seed),
                at::tensor(offsets, at::kInt),
                random_normal(
                    {num_experts, features[1], features[0]}, dtype, seed + 1),
                has_bias
                    ? random_normal({num_experts, features[1]}, dtype, seed + 2)
                    : at::Tensor()};
          }};
}

}  // namespace

OpSpec grouped_linear_spec() {
  OpSpec spec;
  spec.id = "titan.grouped_linear/1";
  spec.formula =
      "y[r, o] = sum_i x[r, i] * weight[e, o, i] + bias[e, o], offsets[e] <= r "
      "< offsets[e + 1]";
  spec.inputs = {{"x"},
                 {"offsets", false, false, true},
                 {"weight"},
                 {"bias", true, true, false}};
  spec.outputs = {{"y"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.grad_shapes = [](const Attributes&,
                        const std::vector<TensorMeta>& grad_outputs,
                        const std::vector<TensorMeta>& in) {
    return std::vector<TensorMeta>{
        in[kX],
        TensorMeta(),
        in[kWeight],
        grad_outputs[0].like(grad_outputs[0].dtype,
                             {in[kWeight].sizes[0], in[kWeight].sizes[1]})};
  };
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 2.0 * static_cast<double>(in[kX].num_elements()) *
           static_cast<double>(in[kWeight].sizes[1]);
  };
  // As titan.linear/1: sqrt(K) growth of rounding, K = 257 in the cases.
  spec.tolerances = rounding_tolerances(
      8, "random-walk bound sqrt(257)/2 ulp of the largest case");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        make_case("prime sizes", {3, 0, 7, 1}, {13, 11}, false),
        make_case("bias, idle first and last", {0, 5, 2, 0}, {8, 3}, true),
        make_case("one expert takes all", {0, 9, 0}, {5, 4}, true),
        make_case("257 features", {2, 3}, {257, 31}, false),
        make_case("no rows", {0, 0}, {4, 3}, true)};
  };
  return spec;
}

}  // namespace titan::op::reference

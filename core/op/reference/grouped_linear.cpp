// SPDX-License-Identifier: BSD-3-Clause
// titan.grouped_linear/1: one linear layer per expert over rows sorted by
// expert (moe_dispatch.cpp). No padding: an expert has as many rows as tokens
// chose it, or none, and then its weight's gradient is zero. Legend: R rows, E
// experts, I input features, O output features.
#include <algorithm>
#include <bit>

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

/// Rows of an expert, and how many a product computes.
struct Group {
  int64_t expert, first, count, computed;
};

// In 16 bits oneDNN compiles a product anew for each number of rows, and keeps
// 1,024 of them, 700 MiB. Eight numbers per doubling are few, and cost at most
// an eighth more work (bench/results/deepseek_v3.md).
int64_t computed_rows(const at::Tensor& x_RI, int64_t count) {
  const auto dtype = x_RI.scalar_type();
  if (!x_RI.is_cpu() || (dtype != at::kBFloat16 && dtype != at::kHalf))
    return count;
  const auto octave = std::bit_floor(static_cast<uint64_t>(count));
  const int64_t step = std::max<int64_t>(1, static_cast<int64_t>(octave) / 8);
  return (count + step - 1) / step * step;
}

/// Calls body for each expert in ascending order, those without rows, too.
/// Elsewhere than on the CPU the offsets are read back: a kernel need not.
template <typename Body>
void each_group(const at::Tensor& offsets, const at::Tensor& x_RI, Body body) {
  const at::Tensor host = offsets.to(at::kCPU, at::kLong).contiguous();
  const int64_t* bounds = host.const_data_ptr<int64_t>();
  const int64_t num_experts = host.numel() - 1;
  const int64_t num_rows = x_RI.size(0);
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
    body(Group{expert,
               bounds[expert],
               count,
               count == 0 ? 0 : computed_rows(x_RI, count)});
  }
}

/// The group's rows with zeros behind them, as many as are computed.
at::Tensor filled_rows(const at::Tensor& x_RI, const Group& group) {
  const at::Tensor rows = x_RI.narrow(0, group.first, group.count);
  const int64_t missing = group.computed - group.count;
  return missing == 0 ? rows : at::constant_pad_nd(rows, {0, 0, 0, missing});
}

void multiply(at::Tensor y,
              const at::Tensor& x,
              const at::Tensor& matrix_IO,
              const at::Tensor& bias_O) {
  if (bias_O.defined())
    at::addmm_out(y, bias_O, x, matrix_IO);
  else
    at::mm_out(y, x, matrix_IO);
}

/// y = x matrix + bias over the group's rows. Rows behind them are computed,
/// too, where there are as many, and hold nothing until their own group comes.
void multiply_group(at::Tensor& y_RO,
                    const at::Tensor& x_RI,
                    const Group& group,
                    const at::Tensor& matrix_IO,
                    const at::Tensor& bias_O) {
  if (group.first + group.computed <= x_RI.size(0)) {
    multiply(y_RO.narrow(0, group.first, group.computed),
             x_RI.narrow(0, group.first, group.computed),
             matrix_IO,
             bias_O);
    return;
  }
  const at::Tensor y =
      at::empty({group.computed, y_RO.size(1)}, y_RO.options());
  multiply(y, filled_rows(x_RI, group), matrix_IO, bias_O);
  y_RO.narrow(0, group.first, group.count).copy_(y.narrow(0, 0, group.count));
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor x_RI = call.inputs[kX].contiguous();
  const at::Tensor& weight_EOI = call.inputs[kWeight];
  const at::Tensor& bias_EO = call.inputs[kBias];
  at::Tensor y_RO =
      at::empty({x_RI.size(0), weight_EOI.size(1)}, x_RI.options());
  each_group(call.inputs[kOffsets], x_RI, [&](const Group& group) {
    if (group.count == 0) return;
    multiply_group(
        y_RO,
        x_RI,
        group,
        weight_EOI.select(0, group.expert).t(),
        bias_EO.defined() ? bias_EO.select(0, group.expert) : at::Tensor());
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
    grads[kWeight] = at::empty(weight_EOI.sizes(), weight_EOI.options());
  if (call.want & 1 << kBias)
    grads[kBias] =
        at::zeros({weight_EOI.size(0), weight_EOI.size(1)}, grad_RO.options());
  each_group(call.inputs[kOffsets], grad_RO, [&](const Group& group) {
    if (group.count == 0) {
      if (grads[kWeight].defined())
        grads[kWeight].select(0, group.expert).zero_();
      return;
    }
    if (grads[kX].defined())
      multiply_group(
          grads[kX], grad_RO, group, weight_EOI.select(0, group.expert), {});
    if (grads[kWeight].defined()) {
      at::Tensor out = grads[kWeight].select(0, group.expert);
      at::mm_out(
          out, filled_rows(grad_RO, group).t(), filled_rows(x_RI, group));
    }
    if (grads[kBias].defined())
      grads[kBias]
          .select(0, group.expert)
          .copy_(grad_RO.narrow(0, group.first, group.count).sum(0));
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

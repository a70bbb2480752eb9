// SPDX-License-Identifier: BSD-3-Clause
// titan.moe_dispatch/1: copies of tokens sorted by expert, in token order
// within one, and titan.moe_combine/1: their weighted sums back in token order.
// Each expert's rows are neighbours and none is padding. Legend: T tokens, K
// experts per token, E experts, R = T K rows, D features.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

// ---- dispatch ----

enum DispatchInput { kX, kIndices };

Shapes dispatch_shape(const Attributes& attributes,
                      const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  expect_num_dims(in[kX], "x", 2);
  expect_integer(in[kIndices], "indices");
  expect_num_dims(in[kIndices], "indices", 2);
  expect_dim(in[kIndices], "indices", 0, in[kX].sizes[0]);
  const int64_t num_experts = attributes.get_int("num_experts");
  TITAN_USER_CHECK(
      num_experts >= 1, "num_experts: expected at least 1, got ", num_experts);
  const TensorMeta place = in[kX].like(at::kLong, in[kIndices].sizes);
  return {{in[kX].like(in[kX].dtype,
                       {in[kIndices].num_elements(), in[kX].sizes[1]}),
           in[kX].like(at::kInt, {num_experts + 1}),
           place},
          {place}};
}

// Elsewhere nothing is read back: scatter_add asserts on the device.
void check_experts(const at::Tensor& index_R, int64_t num_experts) {
  if (!index_R.is_cpu() || index_R.numel() == 0) return;
  const auto least = index_R.min().item<int64_t>();
  const auto most = index_R.max().item<int64_t>();
  TITAN_USER_CHECK(least >= 0 && most < num_experts,
                   "[moe_dispatch] expert: expected 0 to ",
                   num_experts - 1,
                   ", got ",
                   least < 0 ? least : most);
}

/// [E + 1]: expert e has the rows from offsets[e] on.
at::Tensor offsets_of(const at::Tensor& index_R, int64_t num_experts) {
  const at::Tensor counts =
      at::zeros({num_experts + 1}, index_R.options())
          .scatter_add_(0, index_R + 1, at::ones_like(index_R));
  return counts.cumsum(0).to(at::kInt);
}

ForwardResult dispatch(const ForwardCall& call) {
  const at::Tensor& x_TD = call.inputs[kX];
  const at::Tensor& index_TK = call.inputs[kIndices];
  const int64_t num_experts = call.attributes.get_int("num_experts");
  const int64_t per_token = index_TK.size(1);
  const at::Tensor index_R = index_TK.to(at::kLong).reshape({-1});
  check_experts(index_R, num_experts);
  const at::Tensor source_R =
      std::get<1>(at::sort(index_R, /*stable=*/true, 0, /*descending=*/false));
  const at::Tensor place_R = at::empty_like(source_R).scatter_(
      0, source_R, at::arange(source_R.numel(), source_R.options()));
  const at::Tensor place_TK = place_R.view(index_TK.sizes());
  const at::Tensor rows_RD =
      x_TD.index_select(0, source_R.floor_divide(per_token));
  return {{rows_RD, offsets_of(index_R, num_experts), place_TK}, {place_TK}};
}

/// sum_k rows[place[t, k]] in acc(dtype), k ascending: the same bits always.
std::vector<at::Tensor> dispatch_backward(const BackwardCall& call) {
  std::vector<at::Tensor> grads(2);
  if (!(call.want & 1 << kX)) return grads;
  const at::Tensor& grad_RD = call.grad_outputs[0];
  const at::Tensor& place_TK = call.saved[0];
  const auto acc = acc_type(grad_RD.scalar_type());
  at::Tensor grad_TD = at::zeros({place_TK.size(0), grad_RD.size(1)},
                                 grad_RD.options().dtype(acc));
  for (int64_t k = 0; k < place_TK.size(1); ++k)
    grad_TD.add_(grad_RD.index_select(0, place_TK.select(1, k)));
  grads[kX] = grad_TD.to(grad_RD.scalar_type());
  return grads;
}

// ---- combine ----

enum CombineInput { kRows, kWeights, kPlace };

Shapes combine_shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kRows], "rows");
  expect_num_dims(in[kRows], "rows", 2);
  expect_num_dims(in[kWeights], "weights", 2);
  expect_floating(in[kWeights], "weights");
  expect_integer(in[kPlace], "place");
  TITAN_USER_CHECK(in[kPlace].sizes == in[kWeights].sizes,
                   "place shape: expected that of weights ",
                   in[kWeights].sizes,
                   ", got ",
                   in[kPlace].sizes);
  expect_dim(in[kRows], "rows", 0, in[kPlace].num_elements());
  return {{in[kRows].like(in[kRows].dtype,
                          {in[kPlace].sizes[0], in[kRows].sizes[1]})},
          {}};
}

/// Row of copy (t, k) for all t.
at::Tensor rows_of(const at::Tensor& rows_RD,
                   const at::Tensor& place_TK,
                   int64_t k) {
  return rows_RD.index_select(0, place_TK.select(1, k));
}

/// Products and sum in acc(dtype), k ascending, rounded once. A scatter-add of
/// rounded products would round K times more.
ForwardResult combine(const ForwardCall& call) {
  const at::Tensor& rows_RD = call.inputs[kRows];
  const at::Tensor& place_TK = call.inputs[kPlace];
  const auto acc = acc_type(rows_RD.scalar_type());
  const at::Tensor weight_TK = call.inputs[kWeights].to(acc);
  at::Tensor y_TD =
      at::zeros({place_TK.size(0), rows_RD.size(1)}, weight_TK.options());
  for (int64_t k = 0; k < place_TK.size(1); ++k)
    y_TD.addcmul_(rows_of(rows_RD, place_TK, k).to(acc),
                  weight_TK.narrow(1, k, 1));
  return {{y_TD.to(rows_RD.scalar_type())}, {}};
}

/// Every row belongs to one (t, k): the rows' gradient is a gather.
std::vector<at::Tensor> combine_backward(const BackwardCall& call) {
  const at::Tensor& rows_RD = call.inputs[kRows];
  const at::Tensor& place_TK = call.inputs[kPlace];
  const auto acc = acc_type(rows_RD.scalar_type());
  const at::Tensor weight_TK = call.inputs[kWeights].to(acc);
  const at::Tensor grad_TD = call.grad_outputs[0].to(acc);
  std::vector<at::Tensor> grads(3);
  if (call.want & 1 << kRows) grads[kRows] = at::empty_like(rows_RD);
  if (call.want & 1 << kWeights)
    grads[kWeights] = at::empty_like(call.inputs[kWeights]);
  for (int64_t k = 0; k < place_TK.size(1); ++k) {
    if (grads[kRows].defined())
      grads[kRows].index_copy_(
          0,
          place_TK.select(1, k),
          (grad_TD * weight_TK.narrow(1, k, 1)).to(rows_RD.scalar_type()));
    if (grads[kWeights].defined())
      grads[kWeights].select(1, k).copy_(
          (rows_of(rows_RD, place_TK, k) * grad_TD).sum(1));
  }
  return grads;
}

// ---- conformance ----

struct CaseSize {
  int64_t num_tokens, per_token, num_experts, dim;
};

ConformanceCase dispatch_case(std::string name, CaseSize size) {
  return {
      std::move(name),
      {{"num_experts", size.num_experts}},
      [=](at::ScalarType dtype, uint64_t seed) {
        return std::vector<at::Tensor>{
            random_normal({size.num_tokens, size.dim}, dtype, seed),
            random_ids(
                {size.num_tokens, size.per_token}, size.num_experts, seed + 1)};
      }};
}

ConformanceCase combine_case(std::string name, CaseSize size) {
  return {
      std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
        const int64_t num_rows = size.num_tokens * size.per_token;
        const at::Tensor keys =
            random_normal({num_rows}, at::kDouble, seed + 1);
        return std::vector<at::Tensor>{
            random_normal({num_rows, size.dim}, dtype, seed),
            random_normal({size.num_tokens, size.per_token}, dtype, seed + 2),
            keys.argsort().view({size.num_tokens, size.per_token})};
      }};
}

}  // namespace

OpSpec moe_dispatch_spec() {
  OpSpec spec;
  spec.id = "titan.moe_dispatch/1";
  spec.formula =
      "rows = x[t] of all (t, k), stably sorted by indices[t, k]; rows of "
      "expert e from offsets[e] to offsets[e + 1]; place[t, k] = row of (t, k)";
  spec.inputs = {{"x", false, true, false}, {"indices", false, false, true}};
  spec.outputs = {{"rows"}, {"offsets", false}, {"place", false}};
  spec.saved = {"place"};
  spec.attributes = {{"num_experts", int64_t{1}, "experts", {}, true}};
  spec.shape = dispatch_shape;
  spec.forward = dispatch;
  spec.backward = dispatch_backward;
  spec.grad_shapes = [](const Attributes&,
                        const std::vector<TensorMeta>& grad_outputs,
                        const std::vector<TensorMeta>& in) {
    const TensorMeta& rows = grad_outputs[0];
    return std::vector<TensorMeta>{
        rows.like(rows.dtype, {in[kIndices].sizes[0], rows.sizes.back()}),
        TensorMeta()};
  };
  spec.tolerances = rounding_tolerances(
      4, "forward copies; backward sums up to 3 rows in acc(dtype)");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        dispatch_case("prime sizes", {13, 3, 5, 7}),
        dispatch_case("idle experts", {2, 1, 11, 3}),
        dispatch_case("one expert", {5, 2, 1, 4}),
        dispatch_case("no tokens", {0, 2, 3, 4})};
  };
  return spec;
}

OpSpec moe_combine_spec() {
  OpSpec spec;
  spec.id = "titan.moe_combine/1";
  spec.formula = "y[t] = sum_k weights[t, k] * rows[place[t, k]]";
  spec.inputs = {{"rows"}, {"weights"}, {"place", false, false, true}};
  spec.outputs = {{"y"}};
  spec.shape = combine_shape;
  spec.forward = combine;
  spec.backward = combine_backward;
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 2.0 * static_cast<double>(in[kRows].num_elements());
  };
  spec.tolerances = rounding_tolerances(
      8, "3 products summed in acc(dtype), one rounding; dot products of 7");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        combine_case("prime sizes", {13, 3, 5, 7}),
        combine_case("one expert per token", {5, 1, 2, 3}),
        combine_case("no tokens", {0, 2, 3, 4})};
  };
  return spec;
}

}  // namespace titan::op::reference

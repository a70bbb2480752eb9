// SPDX-License-Identifier: BSD-3-Clause
// titan.embedding/1: rows of a table by id.
// Legend: V rows of the table, D features.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kIds, kWeight };

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_integer(in[kIds], "ids");
  expect_floating(in[kWeight], "weight");
  expect_num_dims(in[kWeight], "weight", 2);
  auto sizes = in[kIds].sizes;
  sizes.push_back(in[kWeight].sizes[1]);
  return {{in[kWeight].like(in[kWeight].dtype, std::move(sizes))}, {}};
}

/// UserError that names the id: a token of another vocabulary, or a position
/// behind the table.
void check_ids(const at::Tensor& ids, int64_t rows) {
  for (const at::Tensor& id : {ids.min(), ids.max()}) {
    const auto value = id.item<int64_t>();
    TITAN_USER_CHECK(value >= 0 && value < rows,
                     "[titan.embedding/1] ids: expected 0 to ",
                     rows - 1,
                     ", the rows of the table, got ",
                     value);
  }
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor& ids = call.inputs[kIds];
  const at::Tensor& weight_VD = call.inputs[kWeight];
  try {
    return {{at::embedding(weight_VD, ids)}, {}};
  } catch (const c10::IndexError&) {  // LibTorch says only that one is
    check_ids(ids, weight_VD.size(0));
    throw;
  }
}

/// A token that occurs a thousand times adds a thousand rows: in acc(dtype),
/// rounded once. LibTorch's CPU loop gives each table row to one thread and
/// walks the ids in order, so the bits do not depend on the number of threads.
std::vector<at::Tensor> backward(const BackwardCall& call) {
  std::vector<at::Tensor> grads(2);
  if (!(call.want & 1 << kWeight)) return grads;
  const at::Tensor& weight_VD = call.inputs[kWeight];
  const auto acc = acc_type(weight_VD.scalar_type());
  grads[kWeight] = at::embedding_dense_backward(call.grad_outputs[0].to(acc),
                                                call.inputs[kIds],
                                                weight_VD.size(0),
                                                /*padding_idx=*/-1,
                                                /*scale_grad_by_freq=*/false)
                       .to(weight_VD.scalar_type());
  return grads;
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          int64_t rows) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            return std::vector<at::Tensor>{
                random_ids(sizes, rows, seed),
                random_normal({rows, 5}, dtype, seed + 1)};
          }};
}

}  // namespace

OpSpec embedding_spec() {
  OpSpec spec;
  spec.id = "titan.embedding/1";
  spec.formula = "y[..., d] = weight[ids[...], d]";
  spec.inputs = {{"ids", false, false, true}, {"weight"}};
  spec.outputs = {{"y"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.tolerances =
      rounding_tolerances(4, "forward copies; backward sums up to 16 rows");
  spec.cases = [] {
    return std::vector<ConformanceCase>{make_case("repeated ids", {37}, 3),
                                        make_case("two dims", {2, 3}, 7),
                                        make_case("no ids", {0}, 7)};
  };
  return spec;
}

}  // namespace titan::op::reference

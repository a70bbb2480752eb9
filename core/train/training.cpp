// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/training.h"

#include <ATen/ATen.h>

namespace titan::train {
namespace {

template <typename Element>
at::Tensor copy_of(const std::vector<Element>& values, at::ScalarType dtype) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, dtype);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<Element>());
  return tensor;
}

}  // namespace

module::BatchTensors to_tensors(const Microbatch& batch) {
  module::BatchTensors tensors;
  tensors.tokens = copy_of(batch.tokens, at::kLong);
  tensors.labels = copy_of(batch.labels, at::kLong);
  tensors.loss_weight = copy_of(batch.loss_weight, at::kFloat);
  tensors.doc_id = copy_of(batch.doc_id, at::kInt);
  tensors.cu_seqlens = copy_of(batch.cu_seqlens, at::kInt);
  tensors.positions = copy_of(batch.positions, at::kInt);
  tensors.global_index = copy_of(batch.global_index, at::kLong);
  return tensors;
}

}  // namespace titan::train

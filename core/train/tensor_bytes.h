// SPDX-License-Identifier: BSD-3-Clause
// Between tensors and the bytes of checkpoint files, which know no LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/checkpoint/dtype.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/safetensors_writer.h"

namespace titan::train {

/// UserError for a dtype that the other side does not have.
checkpoint::Dtype file_dtype(at::ScalarType dtype);
at::ScalarType tensor_dtype(checkpoint::Dtype dtype);

/// Keeps `tensor` (made contiguous) alive until the write is over.
checkpoint::TensorSource source_of(std::string name, const at::Tensor& tensor);
/// The same in another dtype: cast when the bytes are asked for.
checkpoint::TensorSource source_of(std::string name,
                                   const at::Tensor& tensor,
                                   at::ScalarType dtype);

/// Copies.
at::Tensor tensor_of(const checkpoint::TensorView& view);

}  // namespace titan::train

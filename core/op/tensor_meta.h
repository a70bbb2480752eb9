// SPDX-License-Identifier: BSD-3-Clause
// Shape and type of a tensor without its data: what shape functions, kernel
// selection and the fake run compute with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::op {

struct TensorMeta {
  bool is_defined = false;  // false: an absent optional input
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  std::vector<int64_t> sizes;
  bool is_contiguous = true;

  TensorMeta() = default;
  TensorMeta(at::ScalarType tensor_dtype,
             at::Device tensor_device,
             std::vector<int64_t> tensor_sizes)
      : is_defined(true),
        dtype(tensor_dtype),
        device(tensor_device),
        sizes(std::move(tensor_sizes)) {}

  static TensorMeta of(const at::Tensor& tensor);
  /// Same device; `dtype` and sizes given.
  TensorMeta like(at::ScalarType new_dtype,
                  std::vector<int64_t> new_sizes) const {
    return TensorMeta(new_dtype, device, std::move(new_sizes));
  }

  int64_t num_dims() const { return static_cast<int64_t>(sizes.size()); }
  int64_t num_elements() const;
  int64_t size_bytes() const;
  /// "bf16 (2048, 256) cpu", or "absent".
  std::string text() const;
};

std::vector<TensorMeta> metas_of(c10::ArrayRef<at::Tensor> tensors);

/// "bf16", "f32", "i64", ...: short names used in every message.
std::string_view dtype_name(at::ScalarType dtype);

/// The type in which sums are made: f32 for f16 and bf16, else the type itself
/// (f64 stays f64, or float64 tests would lie).
at::ScalarType acc_type(at::ScalarType dtype);

}  // namespace titan::op

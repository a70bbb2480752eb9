// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/tensor_meta.h"

#include <titan/text.h>

namespace titan::op {

TensorMeta TensorMeta::of(const at::Tensor& tensor) {
  if (!tensor.defined()) return TensorMeta();
  TensorMeta meta(tensor.scalar_type(), tensor.device(), tensor.sizes().vec());
  meta.is_contiguous = tensor.is_contiguous();
  return meta;
}

int64_t TensorMeta::num_elements() const {
  int64_t count = is_defined ? 1 : 0;
  for (int64_t size : sizes) count *= size;
  return count;
}

int64_t TensorMeta::size_bytes() const {
  return num_elements() * static_cast<int64_t>(c10::elementSize(dtype));
}

std::string TensorMeta::text() const {
  if (!is_defined) return "absent";
  return titan::text(dtype_name(dtype), ' ', sizes, ' ', device.str());
}

std::vector<TensorMeta> metas_of(c10::ArrayRef<at::Tensor> tensors) {
  std::vector<TensorMeta> out;
  out.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors)
    out.push_back(TensorMeta::of(tensor));
  return out;
}

std::string_view dtype_name(at::ScalarType dtype) {
  switch (dtype) {
    case at::kByte:
      return "u8";
    case at::kChar:
      return "i8";
    case at::kShort:
      return "i16";
    case at::kInt:
      return "i32";
    case at::kLong:
      return "i64";
    case at::kHalf:
      return "f16";
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    case at::kBool:
      return "bool";
    case at::kBFloat16:
      return "bf16";
    case at::kFloat8_e5m2:
      return "f8_e5m2";
    case at::kFloat8_e4m3fn:
      return "f8_e4m3";
    default:
      return c10::toString(dtype);
  }
}

at::ScalarType acc_type(at::ScalarType dtype) {
  const bool is_half = dtype == at::kHalf || dtype == at::kBFloat16;
  return is_half ? at::kFloat : dtype;
}

}  // namespace titan::op

// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/tensor_bytes.h"

#include <array>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include <titan/error.h>

namespace titan::train {
namespace {

using checkpoint::Dtype;

constexpr std::array<std::pair<Dtype, at::ScalarType>, 13> kPairs = {{
    {Dtype::kF64, at::kDouble},
    {Dtype::kF32, at::kFloat},
    {Dtype::kF16, at::kHalf},
    {Dtype::kBf16, at::kBFloat16},
    {Dtype::kF8E4M3, at::ScalarType::Float8_e4m3fn},
    {Dtype::kF8E5M2, at::ScalarType::Float8_e5m2},
    {Dtype::kC64, at::kComplexFloat},
    {Dtype::kI64, at::kLong},
    {Dtype::kI32, at::kInt},
    {Dtype::kI16, at::kShort},
    {Dtype::kI8, at::kChar},
    {Dtype::kU8, at::kByte},
    {Dtype::kBool, at::kBool},
}};

}  // namespace

Dtype file_dtype(at::ScalarType dtype) {
  for (const auto& [file, tensor] : kPairs)
    if (tensor == dtype) return file;
  throw UserError(
      text("[checkpoint] dtype: expected one that safetensors has, "
           "got ",
           c10::toString(dtype)));
}

at::ScalarType tensor_dtype(Dtype dtype) {
  for (const auto& [file, tensor] : kPairs)
    if (file == dtype) return tensor;
  throw UserError(
      text("[checkpoint] dtype: expected one that LibTorch "
           "computes with, got ",
           checkpoint::dtype_name(dtype)));
}

checkpoint::TensorSource source_of(std::string name, const at::Tensor& tensor) {
  return source_of(std::move(name), tensor, tensor.scalar_type());
}

checkpoint::TensorSource source_of(std::string name,
                                   const at::Tensor& tensor,
                                   at::ScalarType dtype) {
  const at::Tensor held = tensor.detach().contiguous();
  checkpoint::TensorSource source;
  source.spec = {std::move(name), file_dtype(dtype), held.sizes().vec()};
  source.bytes = [held, dtype](const checkpoint::ByteSink& sink) {
    const at::Tensor value = held.to(dtype);
    sink({static_cast<const std::byte*>(value.const_data_ptr()),
          value.nbytes()});
  };
  return source;
}

at::Tensor tensor_of(const checkpoint::TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, tensor_dtype(view.dtype));
  if (!view.bytes.empty())
    std::memcpy(
        tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

}  // namespace titan::train

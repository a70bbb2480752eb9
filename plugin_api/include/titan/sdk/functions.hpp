// SPDX-License-Identifier: BSD-3-Clause
// Functions on tensors that are not methods: joining, choosing, making.
#pragma once

#include <string_view>

#include <titan/sdk/tensor_operators.hpp>

namespace titan {

inline Tensor cat(std::span<const Tensor> parts, int64_t dim = 0) {
  static constinit AtenOp op{"aten::cat"};
  return op({parts, dim});
}

inline Tensor stack(std::span<const Tensor> parts, int64_t dim = 0) {
  static constinit AtenOp op{"aten::stack"};
  return op({parts, dim});
}

inline Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::where.self"};
  return op({condition, a, b});
}

inline Tensor matmul(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::matmul"};
  return op({a, b});
}

inline Tensor maximum(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::maximum"};
  return op({a, b});
}

inline Tensor minimum(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::minimum"};
  return op({a, b});
}

inline Tensor one_hot(const Tensor& index, int64_t num_classes) {
  static constinit AtenOp op{"aten::one_hot"};
  return op({index, num_classes});
}

inline Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c) {
  static constinit AtenOp op{"aten::addcmul"};
  return op({a, b, c});
}

inline Tensor cat(std::initializer_list<Tensor> parts, int64_t dim = 0) {
  return cat(std::span<const Tensor>(parts.begin(), parts.size()), dim);
}

inline Tensor stack(std::initializer_list<Tensor> parts, int64_t dim = 0) {
  return stack(std::span<const Tensor>(parts.begin(), parts.size()), dim);
}

/// einsum("tnh,snh->nts", {q_TNH, k_SNH})
inline Tensor einsum(std::string_view equation,
                     std::initializer_list<Tensor> operands) {
  static constinit AtenOp op{"aten::einsum"};
  return op(
      {equation, std::span<const Tensor>(operands.begin(), operands.size())});
}

/// Uninitialised, contiguous, on `like`'s device.
inline Tensor empty(const TensorView& like, IntList sizes, Dtype dtype) {
  titan_tensor out = nullptr;
  detail::HostError error;
  detail::check(host().tensor->empty(like.handle(),
                                     static_cast<int32_t>(dtype),
                                     sizes.data(),
                                     static_cast<uint32_t>(sizes.size()),
                                     &out,
                                     error),
                error);
  return Tensor::adopt(out);
}

inline Tensor empty(const TensorView& like, IntList sizes) {
  return empty(like, sizes, like.dtype());
}

/// Of `like`'s dtype and device, as in PyTorch's new_full.
inline Tensor full(const Tensor& like, IntList sizes, double value) {
  static constinit AtenOp op{"aten::new_full"};
  return op({like, sizes, value});
}

inline Tensor zeros(const Tensor& like, IntList sizes) {
  static constinit AtenOp op{"aten::new_zeros"};
  return op({like, sizes});
}

inline Tensor ones(const Tensor& like, IntList sizes) {
  static constinit AtenOp op{"aten::new_ones"};
  return op({like, sizes});
}

/// 0 .. count - 1 of `dtype` on `like`'s device. By a running sum: aten::arange
/// would need a device argument, which the ABI has no value for.
inline Tensor arange(const Tensor& like,
                     int64_t count,
                     Dtype dtype = Dtype::kI64) {
  return ones(like.detach(), {count}).to(dtype).cumsum(0).to(dtype) - 1;
}

}  // namespace titan

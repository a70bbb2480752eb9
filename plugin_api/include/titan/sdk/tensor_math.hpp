// SPDX-License-Identifier: BSD-3-Clause
// Bodies of Tensor's methods that compute: one ATen op each.
#pragma once

#include <titan/sdk/aten.hpp>

namespace titan {

inline Tensor Tensor::to(Dtype dtype) const {
  static constinit AtenOp op{"aten::to.dtype"};
  return op({*this, dtype});
}

inline Tensor Tensor::detach() const {
  static constinit AtenOp op{"aten::detach"};
  return op({*this});
}

inline Tensor Tensor::sum() const {
  static constinit AtenOp op{"aten::sum"};
  return op({*this});
}

inline Tensor Tensor::sum(IntList dims, bool keepdim) const {
  static constinit AtenOp op{"aten::sum.dim_IntList"};
  return op({*this, dims, keepdim});
}

inline Tensor Tensor::mean() const {
  static constinit AtenOp op{"aten::mean"};
  return op({*this});
}

inline Tensor Tensor::mean(IntList dims, bool keepdim) const {
  static constinit AtenOp op{"aten::mean.dim"};
  return op({*this, dims, keepdim});
}

inline Tensor Tensor::amax(IntList dims, bool keepdim) const {
  static constinit AtenOp op{"aten::amax"};
  return op({*this, dims, keepdim});
}

inline Tensor Tensor::amin(IntList dims, bool keepdim) const {
  static constinit AtenOp op{"aten::amin"};
  return op({*this, dims, keepdim});
}

inline Tensor Tensor::argmax(int64_t dim, bool keepdim) const {
  static constinit AtenOp op{"aten::argmax"};
  return op({*this, dim, keepdim});
}

inline Tensor Tensor::cumsum(int64_t dim) const {
  static constinit AtenOp op{"aten::cumsum"};
  return op({*this, dim});
}

inline Tensor Tensor::logsumexp(int64_t dim, bool keepdim) const {
  static constinit AtenOp op{"aten::logsumexp"};
  return op({*this, IntList{dim}, keepdim});
}

inline TensorPair Tensor::topk(int64_t k, int64_t dim, bool sorted) const {
  static constinit AtenOp op{"aten::topk"};
  return op.outputs<2>({*this, k, dim, true, sorted});
}

inline TensorPair Tensor::sort(int64_t dim, bool descending) const {
  static constinit AtenOp op{"aten::sort"};
  return op.outputs<2>({*this, dim, descending});
}

inline Tensor Tensor::argsort(int64_t dim, bool descending) const {
  static constinit AtenOp op{"aten::argsort"};
  return op({*this, dim, descending});
}

inline Tensor Tensor::exp() const {
  static constinit AtenOp op{"aten::exp"};
  return op({*this});
}

inline Tensor Tensor::log() const {
  static constinit AtenOp op{"aten::log"};
  return op({*this});
}

inline Tensor Tensor::sin() const {
  static constinit AtenOp op{"aten::sin"};
  return op({*this});
}

inline Tensor Tensor::cos() const {
  static constinit AtenOp op{"aten::cos"};
  return op({*this});
}

inline Tensor Tensor::sqrt() const {
  static constinit AtenOp op{"aten::sqrt"};
  return op({*this});
}

inline Tensor Tensor::rsqrt() const {
  static constinit AtenOp op{"aten::rsqrt"};
  return op({*this});
}

inline Tensor Tensor::reciprocal() const {
  static constinit AtenOp op{"aten::reciprocal"};
  return op({*this});
}

inline Tensor Tensor::abs() const {
  static constinit AtenOp op{"aten::abs"};
  return op({*this});
}

inline Tensor Tensor::sign() const {
  static constinit AtenOp op{"aten::sign"};
  return op({*this});
}

inline Tensor Tensor::floor() const {
  static constinit AtenOp op{"aten::floor"};
  return op({*this});
}

inline Tensor Tensor::tanh() const {
  static constinit AtenOp op{"aten::tanh"};
  return op({*this});
}

inline Tensor Tensor::sigmoid() const {
  static constinit AtenOp op{"aten::sigmoid"};
  return op({*this});
}

inline Tensor Tensor::silu() const {
  static constinit AtenOp op{"aten::silu"};
  return op({*this});
}

inline Tensor Tensor::relu() const {
  static constinit AtenOp op{"aten::relu"};
  return op({*this});
}

inline Tensor Tensor::softplus() const {
  static constinit AtenOp op{"aten::softplus"};
  return op({*this});
}

inline Tensor Tensor::square() const {
  static constinit AtenOp op{"aten::square"};
  return op({*this});
}

inline Tensor Tensor::logical_not() const {
  static constinit AtenOp op{"aten::logical_not"};
  return op({*this});
}

inline Tensor Tensor::zeros_like() const {
  static constinit AtenOp op{"aten::zeros_like"};
  return op({*this});
}

inline Tensor Tensor::ones_like() const {
  static constinit AtenOp op{"aten::ones_like"};
  return op({*this});
}

inline Tensor Tensor::gelu(const char* approximate) const {
  static constinit AtenOp op{"aten::gelu"};
  return op({*this, approximate});
}

inline Tensor Tensor::pow(double exponent) const {
  static constinit AtenOp op{"aten::pow.Tensor_Scalar"};
  return op({*this, exponent});
}

inline Tensor Tensor::clamp(double low, double high) const {
  static constinit AtenOp op{"aten::clamp"};
  return op({*this, low, high});
}

inline Tensor Tensor::clamp_min(double low) const {
  static constinit AtenOp op{"aten::clamp_min"};
  return op({*this, low});
}

inline Tensor Tensor::clamp_max(double high) const {
  static constinit AtenOp op{"aten::clamp_max"};
  return op({*this, high});
}

inline Tensor Tensor::softmax(int64_t dim) const {
  static constinit AtenOp op{"aten::softmax.int"};
  return op({*this, dim});
}

inline Tensor Tensor::log_softmax(int64_t dim) const {
  static constinit AtenOp op{"aten::log_softmax.int"};
  return op({*this, dim});
}

inline Tensor Tensor::floor_divide(int64_t divisor) const {
  static constinit AtenOp op{"aten::floor_divide.Scalar"};
  return op({*this, divisor});
}

inline Tensor Tensor::remainder(int64_t divisor) const {
  static constinit AtenOp op{"aten::remainder.Scalar"};
  return op({*this, divisor});
}

inline Tensor Tensor::matmul(const Tensor& other) const {
  static constinit AtenOp op{"aten::matmul"};
  return op({*this, other});
}

inline Tensor Tensor::outer(const Tensor& other) const {
  static constinit AtenOp op{"aten::outer"};
  return op({*this, other});
}

inline Tensor& Tensor::copy_(const Tensor& source) {
  static constinit AtenOp op{"aten::copy_"};
  op({*this, source});
  return *this;
}

}  // namespace titan

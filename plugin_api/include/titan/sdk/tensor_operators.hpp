// SPDX-License-Identifier: BSD-3-Clause
// Operators on tensors. A number keeps the tensor's dtype, as in PyTorch.
#pragma once

#include <titan/sdk/tensor_math.hpp>
#include <titan/sdk/tensor_shape.hpp>

namespace titan {

/// The number in `2 * x`: integers stay integers.
struct Scalar {
  template <typename Number>
  requires std::is_arithmetic_v<Number> Scalar(Number number) : value(number) {}
  Value value;
};

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::add.Tensor"};
  return op({a, b});
}

inline Tensor operator+(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::add.Scalar"};
  return op({a, b.value});
}

inline Tensor operator-(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::sub.Tensor"};
  return op({a, b});
}

inline Tensor operator-(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::sub.Scalar"};
  return op({a, b.value});
}

inline Tensor operator*(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::mul.Tensor"};
  return op({a, b});
}

inline Tensor operator*(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::mul.Scalar"};
  return op({a, b.value});
}

inline Tensor operator/(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::div.Tensor"};
  return op({a, b});
}

inline Tensor operator/(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::div.Scalar"};
  return op({a, b.value});
}

inline Tensor operator+(Scalar a, const Tensor& b) {
  return b + a;
}

inline Tensor operator*(Scalar a, const Tensor& b) {
  return b * a;
}

inline Tensor operator-(Scalar a, const Tensor& b) {
  static constinit AtenOp op{"aten::rsub.Scalar"};
  return op({b, a.value});
}

inline Tensor operator/(Scalar a, const Tensor& b) {
  return b.reciprocal() * a;
}

inline Tensor operator-(const Tensor& a) {
  static constinit AtenOp op{"aten::neg"};
  return op({a});
}

inline Tensor operator==(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::eq.Tensor"};
  return op({a, b});
}

inline Tensor operator==(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::eq.Scalar"};
  return op({a, b.value});
}

inline Tensor operator!=(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::ne.Tensor"};
  return op({a, b});
}

inline Tensor operator!=(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::ne.Scalar"};
  return op({a, b.value});
}

inline Tensor operator<(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::lt.Tensor"};
  return op({a, b});
}

inline Tensor operator<(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::lt.Scalar"};
  return op({a, b.value});
}

inline Tensor operator<=(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::le.Tensor"};
  return op({a, b});
}

inline Tensor operator<=(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::le.Scalar"};
  return op({a, b.value});
}

inline Tensor operator>(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::gt.Tensor"};
  return op({a, b});
}

inline Tensor operator>(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::gt.Scalar"};
  return op({a, b.value});
}

inline Tensor operator>=(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::ge.Tensor"};
  return op({a, b});
}

inline Tensor operator>=(const Tensor& a, Scalar b) {
  static constinit AtenOp op{"aten::ge.Scalar"};
  return op({a, b.value});
}

inline Tensor operator&(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::bitwise_and.Tensor"};
  return op({a, b});
}

inline Tensor operator|(const Tensor& a, const Tensor& b) {
  static constinit AtenOp op{"aten::bitwise_or.Tensor"};
  return op({a, b});
}

inline Tensor operator~(const Tensor& a) {
  static constinit AtenOp op{"aten::bitwise_not"};
  return op({a});
}

}  // namespace titan

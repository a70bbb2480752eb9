// SPDX-License-Identifier: BSD-3-Clause
// Tensors as rows, and tasks of rows. Slices of larger tensors (a fused
// projection's parts) are read as they lie.
#pragma once

#include <algorithm>
#include <cstdint>

#include <titan/sdk/kernel.hpp>
#include <titan/sdk/tensor_shape.hpp>

namespace titan::kernels {

/// A tensor as rows of its last dim: itself, or a copy where its strides do
/// not give equal steps from row to row. An undefined one has no data.
template <typename Element>
class TensorRows {
 public:
  TensorRows() = default;
  explicit TensorRows(TensorView tensor) {
    if (!tensor.defined()) return;
    owner_ = tensor.retain();
    if (!has_rows()) owner_ = owner_.contiguous();
    data_ = owner_.data<Element>();
    const int64_t dims = owner_.dim();
    columns_ = dims == 0 ? 1 : owner_.size(-1);
    count_ = columns_ == 0 ? 0 : owner_.numel() / columns_;
    stride_ = columns_;
    for (int64_t i = dims - 2; i >= 0; --i) {
      if (owner_.size(i) == 1) continue;
      stride_ = owner_.strides()[static_cast<size_t>(i)];
      break;
    }
  }

  Element* row(int64_t i) const { return data_ + i * stride_; }
  bool defined() const { return data_ != nullptr; }
  int64_t count() const { return count_; }
  int64_t columns() const { return columns_; }
  /// One row follows the other without a gap.
  bool is_dense() const { return count_ <= 1 || stride_ == columns_; }

 private:
  bool has_rows() const {
    const int64_t dims = owner_.dim();
    const auto sizes = owner_.sizes();
    const auto strides = owner_.strides();
    if (dims == 0 || owner_.is_contiguous()) return true;
    if (sizes.back() > 1 && strides.back() != 1) return false;
    int64_t expected = -1;  // stride of the next dim outwards
    for (int64_t i = dims - 2; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      if (sizes[at] == 1) continue;
      if (expected >= 0 && strides[at] != expected) return false;
      expected = strides[at] * sizes[at];
    }
    return true;
  }

  Tensor owner_;
  Element* data_ = nullptr;
  int64_t count_ = 0, columns_ = 0, stride_ = 0;
};

/// Elements of a task: some 10 us, ten times what starting one costs.
constexpr int64_t kTaskElements = 32768;

/// Calls body(first row, last row + 1) on the host's threads.
template <typename Body>
void for_rows(int64_t count, int64_t columns, const Body& body) {
  parallel_for(
      0,
      count,
      std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, columns)),
      body);
}

/// For functions of single elements: calls body(row, first column, how many) so
/// that all are visited once. When no operand has gaps (`is_dense`) everything
/// is one row, whose pieces ignore where rows end.
template <typename Body>
void for_pieces(int64_t count,
                int64_t columns,
                bool is_dense,
                const Body& body) {
  if (is_dense) {
    columns *= count;
    count = std::min<int64_t>(1, columns);
  }
  constexpr int64_t kPiece = kTaskElements / 4;
  const int64_t pieces = (columns + kPiece - 1) / kPiece;
  const int64_t grain =
      std::max<int64_t>(4, kTaskElements / std::max<int64_t>(1, columns));
  parallel_for(0, count * pieces, grain, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t first = i % pieces * kPiece;
      body(i / pieces, first, std::min(kPiece, columns - first));
    }
  });
}

/// The gradient of the only output.
inline TensorView only_grad(const Call& call) {
  TITAN_CHECK(call.grad_out(0).defined(),
              "[kernel] gradient of the output: expected one, got none");
  return call.grad_out(0);
}

}  // namespace titan::kernels

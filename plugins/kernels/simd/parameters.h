// SPDX-License-Identifier: BSD-3-Clause
// Parameters that all rows share, [D]: read as fp32, their gradients summed
// over the rows in an order that does not depend on threads.
#pragma once

#include "plugins/kernels/simd/lanes.h"
#include "plugins/kernels/simd/scratch.h"
#include "plugins/kernels/simd/tensor_rows.h"

namespace titan::kernels {

/// Absent, or of a dtype that `floats_of` reads.
inline bool is_parameter(const Shapes& shapes, size_t i) {
  if (!shapes.has(i)) return true;
  const Dtype dtype = shapes.in(i).dtype();
  return dtype == Dtype::kF32 || dtype == Dtype::kBF16;
}

/// The elements in fp32; empty when undefined.
inline Scratch floats_of(TensorView parameter) {
  Scratch out;
  if (!parameter.defined()) return out;
  const Tensor dense = parameter.retain().contiguous();
  out.resize(static_cast<size_t>(dense.numel()));
  const auto read = [&](const auto* from) {
    each_vector(dense.numel(), [&](auto place) {
      store(load(from, place), out.data(), place);
    });
  };
  if (dense.dtype() == Dtype::kBF16) {
    read(dense.data<const BFloat16>());
  } else {
    read(dense.data<const float>());
  }
  return out;
}

/// Sums over rows, in fp32: rows fall into groups by their number alone; each
/// group adds its rows in order to a row of its own, and these are added in
/// order at the end.
class GroupSums {
 public:
  /// `columns` sums per row; 0 = none are wanted.
  GroupSums(int64_t rows, int64_t columns)
      : rows_(rows),
        columns_(columns),
        stride_((columns + kLanes - 1) / kLanes * kLanes),
        size_(std::max(kRows, (rows + kMostGroups - 1) / kMostGroups)),
        groups_((rows + size_ - 1) / size_),
        sums_(static_cast<size_t>(groups_ * stride_), 0.0f) {}

  /// body(first row, last row + 1, sums [columns] or null), groups in parallel.
  template <typename Body>
  void each_group(const Body& body) {
    parallel_for(0, groups_, 1, [&](int64_t group, int64_t end) {
      for (; group < end; ++group)
        body(group * size_,
             std::min(rows_, (group + 1) * size_),
             columns_ == 0 ? nullptr : sums_.data() + group * stride_);
    });
  }

  /// The sums over all groups from column `first` on, into a [D] tensor.
  void write(TensorView to, int64_t first = 0) const {
    const auto write_as = [&](auto* out) {
      each_vector(to.numel(), [&](auto place) {
        Vec sum = hn::Zero(kFloats);
        for (int64_t group = 0; group < groups_; ++group)
          sum =
              hn::Add(sum, load(sums_.data() + group * stride_ + first, place));
        store(sum, out, place);
      });
    };
    if (to.dtype() == Dtype::kBF16) {
      write_as(to.data<BFloat16>());
    } else {
      write_as(to.data<float>());
    }
  }

 private:
  static constexpr int64_t kRows = 32;
  static constexpr int64_t kMostGroups = 128;
  int64_t rows_, columns_, stride_, size_, groups_;
  Scratch sums_;
};

}  // namespace titan::kernels

// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/squared_norm.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

namespace titan::parallel {
namespace {

// 256 KiB of float32: a thread's share of the second-level cache.
constexpr int64_t kPiece = 1 << 16;
// Independent sums, so that the loop fills vector registers.
constexpr int64_t kLanes = 16;

template <typename Element>
double sum_of_squares(const Element* values, int64_t size) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      lanes[lane] += value * value;
    }
  for (; i < size; ++i) {
    const auto value = static_cast<double>(values[i]);
    lanes[0] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

struct Piece {
  size_t tensor;  // index
  int64_t begin, size;
};

}  // namespace

at::Tensor squared_norm(const std::vector<at::Tensor>& tensors) {
  std::vector<Piece> pieces;
  std::vector<at::Tensor> held;
  at::Tensor total = at::zeros({}, at::kDouble);
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.device().is_cpu()) {
      total += at::linalg_vector_norm(tensor, 2, {}, false, at::kDouble)
                   .square()
                   .cpu();
      continue;
    }
    for (int64_t begin = 0; begin < tensor.numel(); begin += kPiece)
      pieces.push_back(
          {held.size(), begin, std::min(kPiece, tensor.numel() - begin)});
    held.push_back(tensor.contiguous());
  }
  std::vector<double> sums(pieces.size());
  at::parallel_for(
      0,
      static_cast<int64_t>(pieces.size()),
      1,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const Piece& piece = pieces[static_cast<size_t>(i)];
          const at::Tensor& tensor = held[piece.tensor];
          AT_DISPATCH_FLOATING_TYPES_AND2(
              at::kBFloat16, at::kHalf, tensor.scalar_type(), "norm", [&] {
                sums[static_cast<size_t>(i)] = sum_of_squares(
                    tensor.const_data_ptr<scalar_t>() + piece.begin,
                    piece.size);
              });
        }
      });
  double sum = 0;
  for (const double part : sums) sum += part;
  return total.add_(sum);
}

}  // namespace titan::parallel

// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/placement.h"

#include <algorithm>
#include <utility>

#include <titan/error.h>

namespace titan::layout {
namespace {

using Boxes = std::vector<Region>;

std::int64_t ceil_divide(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// The part of `box` with indices [begin, end) of `dim`, counted inside it.
void add_rows(Boxes& out,
              const Region& box,
              std::size_t dim,
              std::int64_t begin,
              std::int64_t end) {
  end = std::min(end, box.extent[dim]);
  if (begin >= end) return;
  out.push_back(box);
  out.back().offset[dim] += begin;
  out.back().extent[dim] = end - begin;
}

// Coordinate's share of the flat memory that the boxes make together.
Boxes flat_share(const Boxes& boxes, std::int64_t ranks, std::int64_t rank) {
  std::int64_t total = 0;
  for (const Region& box : boxes) total += num_elements(box);
  const std::int64_t per_rank = ceil_divide(total, ranks);
  std::int64_t begin = rank * per_rank;
  std::int64_t end = std::min(total, begin + per_rank);
  Boxes share;
  for (const Region& box : boxes) {
    const std::int64_t count = num_elements(box);
    for (Region& part : flat_range(box,
                                   std::clamp<std::int64_t>(begin, 0, count),
                                   std::clamp<std::int64_t>(end, 0, count)))
      share.push_back(std::move(part));
    begin -= count;
    end -= count;
  }
  return share;
}

Boxes share_of(const Boxes& boxes, const AxisSplit& axis, std::int64_t rank) {
  const auto dim = static_cast<std::size_t>(axis.dim);
  Boxes share;
  switch (axis.kind) {
    case Split::kReplicate:
      return boxes;
    case Split::kOwned:
      return rank == axis.owner ? boxes : Boxes{};
    case Split::kFlat:
      return flat_share(boxes, axis.ranks, rank);
    case Split::kShard:
      for (const Region& box : boxes) {
        const std::int64_t rows = ceil_divide(box.extent[dim], axis.ranks);
        add_rows(share, box, dim, rank * rows, (rank + 1) * rows);
      }
      return share;
    case Split::kCyclic:
      for (const Region& box : boxes)
        for (std::int64_t row = rank * axis.block; row < box.extent[dim];
             row += axis.ranks * axis.block)
          add_rows(share, box, dim, row, row + axis.block);
      return share;
  }
  return share;
}

void check_axis(const AxisSplit& axis, std::size_t num_dims) {
  const bool has_dim =
      axis.kind == Split::kShard || axis.kind == Split::kCyclic;
  TITAN_CHECK(
      axis.ranks >= 1 && axis.block >= 1 && axis.owner >= 0 &&
          axis.owner < axis.ranks && axis.dim >= 0 &&
          (!has_dim || axis.dim < static_cast<std::int64_t>(num_dims)),
      "[layout] axis: expected ranks, block, owner and dim in range of ",
      num_dims,
      " dims, got ",
      std::vector<std::int64_t>{axis.ranks, axis.block, axis.owner, axis.dim});
}

void add_axis(Layout& layout,
              const Boxes& boxes,
              std::span<const AxisSplit> axes,
              std::int64_t holder) {
  if (axes.empty()) {
    for (const Region& box : boxes)
      if (num_elements(box) > 0) layout.pieces.push_back({holder, box});
    return;
  }
  const AxisSplit& axis = axes.front();
  check_axis(axis, layout.shape.size());
  for (std::int64_t rank = 0; rank < axis.ranks; ++rank)
    add_axis(layout,
             share_of(boxes, axis, rank),
             axes.subspan(1),
             holder * axis.ranks + rank);
}

}  // namespace

Layout make_layout(std::vector<std::int64_t> shape,
                   std::span<const AxisSplit> axes) {
  Layout layout;
  layout.shape = std::move(shape);
  add_axis(layout, {whole_region(layout.shape)}, axes, 0);
  return layout;
}

}  // namespace titan::layout

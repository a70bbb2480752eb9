// SPDX-License-Identifier: BSD-3-Clause
// Layouts written as placements: what each axis of a mesh does to a tensor.
// A layout itself is only boxes and holders, so any other one fits too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/layout/region.h"

namespace titan::layout {

/// A box of a tensor and who holds it: a rank, or a file's index.
struct Piece {
  std::int64_t holder = 0;
  Region region;
};

/// Who holds which part of one tensor. A holder's pieces are in the order in
/// which they lie in its memory, each row-major. Two holders of one element
/// hold the same value.
struct Layout {
  std::vector<std::int64_t> shape;
  std::vector<Piece> pieces;
};

enum class Split {
  kReplicate,  // every coordinate holds all
  kShard,      // `dim` in runs of ceil(extent / ranks); the last are shorter
  kCyclic,     // runs of `block` along `dim` dealt out in turn
  kFlat,       // the memory cut every ceil(elements / ranks), as buckets are
  kOwned,      // coordinate `owner` holds all, the others nothing
};

/// What one mesh axis does, on top of the axes outside it.
struct AxisSplit {
  Split kind = Split::kReplicate;
  std::int64_t ranks = 1;
  std::int64_t dim = 0;
  std::int64_t block = 1;
  std::int64_t owner = 0;
};

/// Axes from the outermost; the holder is the rank in row-major order of the
/// coordinates. A shard of what an outer axis has sharded along the same
/// dimension splits each of its boxes.
Layout make_layout(std::vector<std::int64_t> shape,
                   std::span<const AxisSplit> axes);

}  // namespace titan::layout

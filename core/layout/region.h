// SPDX-License-Identifier: BSD-3-Clause
// Boxes of a tensor: what a rank holds of it and what a rank wants of it.
// Moving boxes is all that a change of layout needs; who sends which box to
// whom is core/layout/reshard.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace titan::layout {

/// Elements offset[d] <= index[d] < offset[d] + extent[d] of each dimension.
struct Region {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> extent;

  bool operator==(const Region&) const = default;
};

/// The whole of a tensor.
Region whole_region(const std::vector<std::int64_t>& shape);

/// Product of the extents; the region must lie within a valid shape.
std::int64_t num_elements(const Region& region);

bool is_within(const Region& region, const std::vector<std::int64_t>& shape);

/// Nothing when the two share no element. Both of one rank.
std::optional<Region> intersect(const Region& a, const Region& b);

/// What `a` holds and `b` does not, as disjoint boxes: at most two for each
/// dimension.
std::vector<Region> subtract(const Region& a, const Region& b);

/// Elements [begin, end) of a region that is stored row-major, as boxes whose
/// rows follow each other in that order: at most 2 * rank - 1.
std::vector<Region> flat_range(const Region& region,
                               std::int64_t begin,
                               std::int64_t end);

/// Whether the regions, each within `whole`, hold every element of it exactly
/// once.
bool is_partition_of(std::vector<Region> regions, const Region& whole);
bool is_partition(std::vector<Region> regions,
                  const std::vector<std::int64_t>& shape);

/// Copies `box`, which lies within both regions; `from` and `to` hold their
/// regions row-major, `item_bytes` per element.
void copy_box(const Region& box,
              const Region& from_region,
              std::span<const std::byte> from,
              const Region& to_region,
              std::span<std::byte> to,
              std::int64_t item_bytes);

/// copy_box() of what both regions share. Returns how many elements.
std::int64_t copy_shared_elements(const Region& from_region,
                                  std::span<const std::byte> from,
                                  const Region& to_region,
                                  std::span<std::byte> to,
                                  std::int64_t item_bytes);

}  // namespace titan::layout

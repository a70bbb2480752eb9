// SPDX-License-Identifier: BSD-3-Clause
// Boxes of a tensor: what a rank stores of it and what a rank wants of it.
// Copying one box out of others is all that loading on another layout needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace titan::checkpoint {

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

/// Whether the regions, each within `shape`, hold every element exactly once.
bool is_partition(std::vector<Region> regions,
                  const std::vector<std::int64_t>& shape);

/// Copies the elements that both regions share; `from` and `to` hold their
/// regions row-major, `item_bytes` per element. Returns how many elements.
std::int64_t copy_shared_elements(const Region& from_region,
                                  std::span<const std::byte> from,
                                  const Region& to_region,
                                  std::span<std::byte> to,
                                  std::int64_t item_bytes);

}  // namespace titan::checkpoint

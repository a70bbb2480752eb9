// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/region.h"

#include <algorithm>
#include <cstring>

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

using Index = std::vector<std::int64_t>;

// Position of an element within a region that is stored row-major.
std::int64_t position(const Region& region, const Index& index) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < index.size(); ++d)
    result = result * region.extent[d] + (index[d] - region.offset[d]);
  return result;
}

// Steps `index` through `region` over its first `num_dims` dimensions; false
// after the last element.
bool advance(Index& index, const Region& region, std::size_t num_dims) {
  for (std::size_t d = num_dims; d-- > 0;) {
    if (++index[d] < region.offset[d] + region.extent[d]) return true;
    index[d] = region.offset[d];
  }
  return false;
}

}  // namespace

Region whole_region(const std::vector<std::int64_t>& shape) {
  return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

std::int64_t num_elements(const Region& region) {
  std::int64_t count = 1;
  for (const std::int64_t extent : region.extent) count *= extent;
  return count;
}

bool is_within(const Region& region, const std::vector<std::int64_t>& shape) {
  if (region.offset.size() != shape.size() ||
      region.extent.size() != shape.size())
    return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (region.offset[d] < 0 || region.extent[d] < 0 ||
        region.offset[d] > shape[d] ||
        region.extent[d] > shape[d] - region.offset[d])
      return false;
  }
  return true;
}

std::optional<Region> intersect(const Region& a, const Region& b) {
  Region shared = a;
  for (std::size_t d = 0; d < a.offset.size(); ++d) {
    const std::int64_t begin = std::max(a.offset[d], b.offset[d]);
    const std::int64_t end =
        std::min(a.offset[d] + a.extent[d], b.offset[d] + b.extent[d]);
    if (begin >= end) return std::nullopt;
    shared.offset[d] = begin;
    shared.extent[d] = end - begin;
  }
  return shared;
}

bool is_partition(std::vector<Region> regions,
                  const std::vector<std::int64_t>& shape) {
  std::int64_t missing = num_elements(whole_region(shape));
  for (const Region& region : regions) {
    const std::int64_t count = num_elements(region);
    if (count > missing) return false;
    missing -= count;
  }
  if (missing != 0) return false;
  // The counts agree, so it is enough that no two overlap. Sorted by offset,
  // only neighbours that begin before this one ends can.
  std::ranges::sort(regions, {}, &Region::offset);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    for (std::size_t j = i + 1; j < regions.size(); ++j) {
      if (!shape.empty() &&
          regions[j].offset[0] >= regions[i].offset[0] + regions[i].extent[0])
        break;
      if (intersect(regions[i], regions[j])) return false;
    }
  }
  return true;
}

std::int64_t copy_shared_elements(const Region& from_region,
                                  std::span<const std::byte> from,
                                  const Region& to_region,
                                  std::span<std::byte> to,
                                  std::int64_t item_bytes) {
  TITAN_CHECK_EQ(static_cast<std::int64_t>(from.size()),
                 num_elements(from_region) * item_bytes,
                 "[checkpoint] source bytes");
  TITAN_CHECK_EQ(static_cast<std::int64_t>(to.size()),
                 num_elements(to_region) * item_bytes,
                 "[checkpoint] destination bytes");
  const std::optional<Region> shared = intersect(from_region, to_region);
  if (!shared) return 0;
  // A run is contiguous on both sides: the last dimension, and those before it
  // as long as all behind them are whole on both sides.
  std::size_t num_outer = shared->extent.size();
  std::int64_t run = 1;
  while (num_outer > 0) {
    --num_outer;
    run *= shared->extent[num_outer];
    if (shared->extent[num_outer] != from_region.extent[num_outer] ||
        shared->extent[num_outer] != to_region.extent[num_outer])
      break;
  }
  Index index = shared->offset;
  do {
    std::memcpy(to.data() + position(to_region, index) * item_bytes,
                from.data() + position(from_region, index) * item_bytes,
                static_cast<std::size_t>(run * item_bytes));
  } while (advance(index, *shared, num_outer));
  return num_elements(*shared);
}

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/region.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <titan/error.h>

namespace titan::layout {
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

std::vector<Region> subtract(const Region& a, const Region& b) {
  const std::optional<Region> shared = intersect(a, b);
  if (!shared) return {a};
  std::vector<Region> rest;
  Region inner = a;  // of which the dimensions done so far are those of shared
  for (std::size_t d = 0; d < a.offset.size(); ++d) {
    const std::int64_t begin = shared->offset[d];
    const std::int64_t end = begin + shared->extent[d];
    const auto add = [&](std::int64_t from, std::int64_t to) {
      if (from >= to) return;
      rest.push_back(inner);
      rest.back().offset[d] = from;
      rest.back().extent[d] = to - from;
    };
    add(a.offset[d], begin);
    add(end, a.offset[d] + a.extent[d]);
    inner.offset[d] = begin;
    inner.extent[d] = shared->extent[d];
  }
  return rest;
}

std::vector<Region> flat_range(const Region& region,
                               std::int64_t begin,
                               std::int64_t end) {
  if (begin >= end) return {};
  if (begin == 0 && end == num_elements(region)) return {region};
  // A region of one element or less is whole or empty, so there is a first
  // dimension to cut; a row is all that lies behind it.
  Region row = region;
  row.extent[0] = 1;
  const std::int64_t row_size = num_elements(row);
  const auto rows_of = [&](std::int64_t first, std::int64_t last) {
    Region rows = region;
    rows.offset[0] += first;
    rows.extent[0] = last - first;
    return rows;
  };
  // Elements of one row, as boxes of the dimensions behind the first.
  std::vector<Region> boxes;
  const auto add_part =
      [&](std::int64_t index, std::int64_t from, std::int64_t to) {
        const Region inner = {{region.offset.begin() + 1, region.offset.end()},
                              {region.extent.begin() + 1, region.extent.end()}};
        for (const Region& box : flat_range(inner, from, to)) {
          Region part = rows_of(index, index + 1);
          std::ranges::copy(box.offset, part.offset.begin() + 1);
          std::ranges::copy(box.extent, part.extent.begin() + 1);
          boxes.push_back(std::move(part));
        }
      };
  const std::int64_t first = begin / row_size;
  const std::int64_t last = end / row_size;
  if (first == last) {
    add_part(first, begin % row_size, end % row_size);
    return boxes;
  }
  const bool is_cut = begin % row_size != 0;
  if (is_cut) add_part(first, begin % row_size, row_size);
  if (first + is_cut < last) boxes.push_back(rows_of(first + is_cut, last));
  if (end % row_size != 0) add_part(last, 0, end % row_size);
  return boxes;
}

bool is_partition_of(std::vector<Region> regions, const Region& whole) {
  std::int64_t missing = num_elements(whole);
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
      if (!whole.extent.empty() &&
          regions[j].offset[0] >= regions[i].offset[0] + regions[i].extent[0])
        break;
      if (intersect(regions[i], regions[j])) return false;
    }
  }
  return true;
}

bool is_partition(std::vector<Region> regions,
                  const std::vector<std::int64_t>& shape) {
  return is_partition_of(std::move(regions), whole_region(shape));
}

void copy_box(const Region& box,
              const Region& from_region,
              std::span<const std::byte> from,
              const Region& to_region,
              std::span<std::byte> to,
              std::int64_t item_bytes) {
  TITAN_CHECK_EQ(static_cast<std::int64_t>(from.size()),
                 num_elements(from_region) * item_bytes,
                 "[layout] source bytes");
  TITAN_CHECK_EQ(static_cast<std::int64_t>(to.size()),
                 num_elements(to_region) * item_bytes,
                 "[layout] destination bytes");
  if (num_elements(box) == 0) return;
  // A run is contiguous on both sides: the last dimension, and those before it
  // as long as all behind them are whole on both sides.
  std::size_t num_outer = box.extent.size();
  std::int64_t run = 1;
  while (num_outer > 0) {
    --num_outer;
    run *= box.extent[num_outer];
    if (box.extent[num_outer] != from_region.extent[num_outer] ||
        box.extent[num_outer] != to_region.extent[num_outer])
      break;
  }
  Index index = box.offset;
  do {
    std::memcpy(to.data() + position(to_region, index) * item_bytes,
                from.data() + position(from_region, index) * item_bytes,
                static_cast<std::size_t>(run * item_bytes));
  } while (advance(index, box, num_outer));
}

std::int64_t copy_shared_elements(const Region& from_region,
                                  std::span<const std::byte> from,
                                  const Region& to_region,
                                  std::span<std::byte> to,
                                  std::int64_t item_bytes) {
  const std::optional<Region> shared = intersect(from_region, to_region);
  if (!shared) return 0;
  copy_box(*shared, from_region, from, to_region, to, item_bytes);
  return num_elements(*shared);
}

}  // namespace titan::layout

// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/region.h"

#include <random>

#include <catch2/catch.hpp>

using namespace titan::layout;

namespace {

using Shape = std::vector<std::int64_t>;

// Bytes of a region of a tensor whose element at linear index i is i.
std::vector<std::int32_t> linear_indices(const Region& region,
                                         const Shape& shape) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < num_elements(region); ++i) {
    std::int64_t rest = i;
    std::int64_t linear = 0;
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      linear += (region.offset[d] + rest % region.extent[d]) * stride;
      rest /= region.extent[d];
      stride *= shape[d];
    }
    values.push_back(static_cast<std::int32_t>(linear));
  }
  return values;
}

Region random_region(const Shape& shape, std::mt19937& random) {
  Region region;
  for (const std::int64_t dim : shape) {
    const std::int64_t offset = random() % static_cast<unsigned>(dim);
    region.offset.push_back(offset);
    region.extent.push_back(1 + random() % static_cast<unsigned>(dim - offset));
  }
  return region;
}

}  // namespace

TEST_CASE("copied elements are those that both regions hold (seed 7)",
          "[unit]") {
  std::mt19937 random(7);
  for (const Shape& shape :
       {Shape{}, Shape{9}, Shape{5, 7}, Shape{3, 4, 5}, Shape{2, 3, 2, 4}}) {
    for (int round = 0; round < 300; ++round) {
      const Region from = random_region(shape, random);
      const Region to = random_region(shape, random);
      const auto source = linear_indices(from, shape);
      const auto wanted = linear_indices(to, shape);
      std::vector<std::int32_t> got(wanted.size(), -1);
      const std::int64_t count =
          copy_shared_elements(from,
                               std::as_bytes(std::span(source)),
                               to,
                               std::as_writable_bytes(std::span(got)),
                               sizeof(std::int32_t));
      std::int64_t num_written = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const bool is_shared =
            std::ranges::find(source, wanted[i]) != source.end();
        REQUIRE(got[i] == (is_shared ? wanted[i] : -1));
        num_written += is_shared;
      }
      REQUIRE(count == num_written);
    }
  }
}

TEST_CASE("partitions hold each element exactly once", "[unit]") {
  const Shape shape = {4, 6};
  const Region left = {{0, 0}, {4, 3}};
  const Region right = {{0, 3}, {4, 3}};
  const Region top = {{0, 0}, {2, 6}};
  CHECK(is_partition({left, right}, shape));
  CHECK(is_partition({right, left}, shape));
  CHECK(is_partition({whole_region(shape)}, shape));
  CHECK_FALSE(is_partition({left}, shape));
  CHECK_FALSE(is_partition({left, top}, shape));
  CHECK_FALSE(is_partition({left, left}, shape));
  CHECK_FALSE(is_partition({left, right, left}, shape));
  CHECK(is_partition({whole_region({})}, {}));
  CHECK_FALSE(is_partition({whole_region({}), whole_region({})}, {}));
  CHECK(is_partition({whole_region({0, 3})}, {0, 3}));
}

TEST_CASE("regions outside the shape are not within it", "[unit]") {
  const Shape shape = {4};
  CHECK(is_within({{0}, {4}}, shape));
  CHECK(is_within({{4}, {0}}, shape));
  CHECK_FALSE(is_within({{1}, {4}}, shape));
  CHECK_FALSE(is_within({{-1}, {2}}, shape));
  CHECK_FALSE(is_within({{5}, {0}}, shape));
  CHECK_FALSE(is_within({{1}, {-1}}, shape));
  CHECK_FALSE(is_within({{1}, {INT64_MAX}}, shape));
  CHECK_FALSE(is_within({{0, 0}, {1, 1}}, shape));
}

TEST_CASE("a difference of boxes and the shared box make the first (seed 3)",
          "[unit]") {
  std::mt19937 random(3);
  for (const Shape& shape : {Shape{}, Shape{9}, Shape{5, 7}, Shape{3, 4, 5}}) {
    for (int round = 0; round < 300; ++round) {
      const Region a = random_region(shape, random);
      const Region b = random_region(shape, random);
      std::vector<Region> boxes = subtract(a, b);
      CHECK(boxes.size() <= 2 * shape.size() + 1);
      if (const auto shared = intersect(a, b)) boxes.push_back(*shared);
      CHECK(is_partition_of(boxes, a));
    }
  }
}

TEST_CASE("boxes of a flat range follow the memory of the region (seed 5)",
          "[unit]") {
  std::mt19937 random(5);
  for (const Shape& shape :
       {Shape{1}, Shape{9}, Shape{5, 7}, Shape{3, 4, 5}, Shape{2, 3, 2, 4}}) {
    for (int round = 0; round < 300; ++round) {
      const Region region = random_region(shape, random);
      const std::int64_t count = num_elements(region);
      const auto whole = linear_indices(region, shape);
      const auto begin = static_cast<std::int64_t>(
          random() % static_cast<unsigned>(count + 1));
      const auto end =
          begin + static_cast<std::int64_t>(
                      random() % static_cast<unsigned>(count - begin + 1));
      std::vector<std::int32_t> got;
      const auto boxes = flat_range(region, begin, end);
      CHECK(boxes.size() <= 2 * shape.size() - 1);
      for (const Region& box : boxes)
        for (const std::int32_t value : linear_indices(box, shape))
          got.push_back(value);
      CHECK(got == std::vector(whole.begin() + begin, whole.begin() + end));
    }
  }
  CHECK(flat_range({{}, {}}, 0, 1) == std::vector<Region>{{{}, {}}});
  CHECK(flat_range({{}, {}}, 0, 0).empty());
  CHECK(flat_range({{0, 0}, {0, 3}}, 0, 0).empty());
}

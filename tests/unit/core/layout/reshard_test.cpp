// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/reshard.h"

#include <map>
#include <random>

#include <catch2/catch.hpp>

#include <titan/error.h>
#include <titan/text.h>

using namespace titan::layout;

namespace {

using Shape = std::vector<std::int64_t>;
using Values = std::vector<std::int32_t>;

std::int64_t draw(std::mt19937& random, std::int64_t below) {
  return static_cast<std::int64_t>(random() % static_cast<unsigned>(below));
}

Shape random_shape(std::mt19937& random) {
  Shape shape(static_cast<std::size_t>(draw(random, 5)));
  for (std::int64_t& dim : shape) dim = draw(random, 8);  // 0 too
  return shape;
}

std::vector<AxisSplit> random_axes(const Shape& shape, std::mt19937& random) {
  std::vector<AxisSplit> axes(static_cast<std::size_t>(1 + draw(random, 3)));
  for (AxisSplit& axis : axes) {
    const bool has_dims = !shape.empty();
    constexpr Split kKinds[] = {Split::kReplicate,
                                Split::kFlat,
                                Split::kOwned,
                                Split::kShard,
                                Split::kCyclic};
    axis.kind = kKinds[draw(random, has_dims ? 5 : 3)];
    axis.ranks = 1 + draw(random, 4);
    axis.block = 1 + draw(random, 3);
    axis.owner = draw(random, axis.ranks);
    if (has_dims) axis.dim = draw(random, std::ssize(shape));
  }
  return axes;
}

// Of a tensor whose element at linear index i is i.
Values fill(const Region& region, const Shape& shape) {
  Values whole(static_cast<std::size_t>(num_elements(whole_region(shape))));
  for (std::size_t i = 0; i < whole.size(); ++i)
    whole[i] = static_cast<std::int32_t>(i);
  Values values(static_cast<std::size_t>(num_elements(region)));
  copy_shared_elements(whole_region(shape),
                       std::as_bytes(std::span(whole)),
                       region,
                       std::as_writable_bytes(std::span(values)),
                       sizeof(std::int32_t));
  return values;
}

// Whether the holder of `to` has this box's elements itself, all of them.
bool holds(const Layout& layout, std::int64_t holder, const Region& box) {
  std::vector<Region> missing = {box};
  for (const Piece& piece : layout.pieces) {
    if (piece.holder != holder) continue;
    std::vector<Region> rest;
    for (const Region& region : missing)
      for (const Region& part : subtract(region, piece.region))
        rest.push_back(part);
    missing = rest;
  }
  return missing.empty();
}

void check_routes(const Layout& from, const Layout& to) {
  std::vector<Values> got;
  std::vector<std::vector<Region>> filled(to.pieces.size());
  for (const Piece& piece : to.pieces)
    got.emplace_back(static_cast<std::size_t>(num_elements(piece.region)), -1);
  std::size_t last = 0;
  for (const Route& route : plan_routes(from, to)) {
    REQUIRE(route.to >= last);
    last = route.to;
    const Piece& source = from.pieces[route.from];
    const Piece& target = to.pieces[route.to];
    REQUIRE(intersect(source.region, route.box) == route.box);
    REQUIRE(intersect(target.region, route.box) == route.box);
    filled[route.to].push_back(route.box);
    if (source.holder != target.holder)
      REQUIRE_FALSE(holds(from, target.holder, route.box));
    const Values values = fill(source.region, from.shape);
    copy_box(route.box,
             source.region,
             std::as_bytes(std::span(values)),
             target.region,
             std::as_writable_bytes(std::span(got[route.to])),
             sizeof(std::int32_t));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(is_partition_of(filled[i], to.pieces[i].region));
    REQUIRE(got[i] == fill(to.pieces[i].region, to.shape));
  }
}

}  // namespace

TEST_CASE("any layout becomes any other, each element once (seed 11)",
          "[unit]") {
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    INFO("round " << round);
    const Shape shape = random_shape(random);
    check_routes(make_layout(shape, random_axes(shape, random)),
                 make_layout(shape, random_axes(shape, random)));
  }
}

TEST_CASE("every pair of small layouts reshards", "[unit]") {
  // All kinds on two axes over a shape that nothing divides.
  const Shape shape = {5, 3};
  std::vector<Layout> layouts;
  constexpr Split kKinds[] = {Split::kReplicate,
                              Split::kShard,
                              Split::kCyclic,
                              Split::kFlat,
                              Split::kOwned};
  for (const Split outer : kKinds)
    for (const Split inner : kKinds)
      for (const std::int64_t dim : {0, 1})
        layouts.push_back(make_layout(
            shape,
            std::vector<AxisSplit>{{.kind = outer, .ranks = 2, .dim = dim},
                                   {.kind = inner, .ranks = 3, .block = 2}}));
  for (const Layout& from : layouts)
    for (const Layout& to : layouts) check_routes(from, to);
}

TEST_CASE("an axis that cuts the memory leaves no element out", "[unit]") {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    const Shape shape = random_shape(random);
    const std::vector<AxisSplit> axes = {
        {.kind = Split::kFlat, .ranks = 1 + draw(random, 9)}};
    std::vector<Region> boxes;
    for (const Piece& piece : make_layout(shape, axes).pieces)
      boxes.push_back(piece.region);
    CHECK(is_partition(boxes, shape));
  }
}

TEST_CASE("receivers spread over the replicas that can serve them", "[unit]") {
  const Shape shape = {64};
  const Layout from = make_layout(shape, std::vector<AxisSplit>{{.ranks = 4}});
  Layout to = make_layout(
      shape, std::vector<AxisSplit>{{.kind = Split::kShard, .ranks = 8}});
  for (Piece& piece : to.pieces) piece.holder += 100;
  std::map<std::int64_t, int> load;
  for (const Route& route : plan_routes(from, to))
    ++load[from.pieces[route.from].holder];
  CHECK(load == std::map<std::int64_t, int>{{0, 2}, {1, 2}, {2, 2}, {3, 2}});
}

TEST_CASE("pieces that are on both sides stay where they are", "[unit]") {
  const std::vector<AxisSplit> axes = {
      {.kind = Split::kShard, .ranks = 2, .dim = 1},
      {.kind = Split::kFlat, .ranks = 3}};
  const Layout layout = make_layout({7, 5}, axes);
  for (const Route& route : plan_routes(layout, layout)) {
    CHECK(route.from == route.to);
    CHECK(route.box == layout.pieces[route.to].region);
  }
}

TEST_CASE("a layout with a hole names it, another shape both", "[unit]") {
  const Layout whole = make_layout({4, 6}, {});
  Layout hole = whole;
  hole.pieces[0].region.extent[1] = 5;
  CHECK_THROWS_WITH(
      plan_routes(hole, whole),
      "[layout] elements of a tensor of shape (4, 6): expected a holder for "
      "each, got none at offset (0, 5) extent (4, 1)");
  CHECK_THROWS_AS(plan_routes(make_layout({4}, {}), whole), titan::UserError);
  CHECK_THROWS_AS(
      make_layout({4},
                  std::vector<AxisSplit>{
                      {.kind = Split::kShard, .ranks = 2, .dim = 1}}),
      titan::BugError);
  Layout outside = whole;
  outside.pieces[0].region.offset[0] = 1;
  CHECK_THROWS_AS(plan_routes(outside, whole), titan::BugError);
}

TEST_CASE("thousands of pieces are planned in time that grows with them",
          "[unit]") {
  // A wanted box meets the few dozen of 4096 pieces whose rows it shares.
  const Shape shape = {4096, 512};
  const Layout from = make_layout(
      shape,
      std::vector<AxisSplit>{{.kind = Split::kShard, .ranks = 512},
                             {.kind = Split::kShard, .ranks = 8, .dim = 1}});
  const Layout to = make_layout(
      shape, std::vector<AxisSplit>{{.kind = Split::kFlat, .ranks = 300}});
  std::int64_t moved = 0;
  for (const Route& route : plan_routes(from, to))
    moved += num_elements(route.box);
  CHECK(moved == 4096 * 512);
}

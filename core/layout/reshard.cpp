// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout/reshard.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <titan/error.h>

namespace titan::layout {
namespace {

struct Overlap {
  std::size_t from = 0;
  Region box;
};

// Source pieces by where they begin in the first dimension, so that a wanted
// box looks only at those that can reach it.
class Sources {
 public:
  explicit Sources(const std::vector<Piece>& pieces) : pieces_(pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(
        order_, {}, [&](std::size_t i) { return begin_of(pieces_[i].region); });
    std::int64_t reach = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t i : order_)
      reach_.push_back(reach = std::max(reach, end_of(pieces_[i].region)));
  }

  // By index of the source.
  std::vector<Overlap> overlaps(const Region& wanted) const {
    // `reach_` rises: what ends before the box begins lies in front.
    const auto first =
        std::ranges::upper_bound(reach_, begin_of(wanted)) - reach_.begin();
    std::vector<Overlap> found;
    for (auto i = static_cast<std::size_t>(first); i < order_.size(); ++i) {
      const Region& region = pieces_[order_[i]].region;
      if (begin_of(region) >= end_of(wanted)) break;
      if (auto box = intersect(region, wanted))
        found.push_back({order_[i], std::move(*box)});
    }
    std::ranges::sort(found, {}, &Overlap::from);
    return found;
  }

 private:
  // A scalar is one row.
  static std::int64_t begin_of(const Region& region) {
    return region.offset.empty() ? 0 : region.offset[0];
  }
  static std::int64_t end_of(const Region& region) {
    return begin_of(region) + (region.extent.empty() ? 1 : region.extent[0]);
  }

  const std::vector<Piece>& pieces_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> reach_;  // the furthest end up to each
};

// Own elements first, then from a replica on, so that receivers with
// neighbouring numbers ask different ones.
void order_by_preference(std::vector<Overlap>& overlaps,
                         const std::vector<Piece>& from,
                         std::int64_t receiver) {
  const auto count = static_cast<std::int64_t>(overlaps.size());
  std::rotate(
      overlaps.begin(), overlaps.begin() + receiver % count, overlaps.end());
  std::stable_partition(
      overlaps.begin(), overlaps.end(), [&](const Overlap& overlap) {
        return from[overlap.from].holder == receiver;
      });
}

class Planner {
 public:
  Planner(const Layout& from, const Layout& to)
      : from_(from), to_(to), sources_(from.pieces) {}

  std::vector<Route> plan() {
    for (std::size_t i = 0; i < to_.pieces.size(); ++i) fill(i);
    return std::move(routes_);
  }

 private:
  void fill(std::size_t to) {
    const Piece& piece = to_.pieces[to];
    if (num_elements(piece.region) == 0) return;
    std::vector<Overlap> overlaps = sources_.overlaps(piece.region);
    std::vector<Region> boxes;
    for (const Overlap& overlap : overlaps) boxes.push_back(overlap.box);
    // The usual case: nobody holds an element twice.
    if (is_partition_of(std::move(boxes), piece.region)) {
      for (Overlap& overlap : overlaps)
        routes_.push_back({overlap.from, to, std::move(overlap.box)});
      return;
    }
    if (!overlaps.empty())
      order_by_preference(overlaps, from_.pieces, piece.holder);
    fill_from_replicas(to, overlaps);
  }

  void fill_from_replicas(std::size_t to,
                          const std::vector<Overlap>& overlaps) {
    std::vector<Region> missing = {to_.pieces[to].region};
    for (const Overlap& overlap : overlaps) {
      std::vector<Region> still_missing;
      for (const Region& region : missing) {
        if (auto box = intersect(region, overlap.box))
          routes_.push_back({overlap.from, to, std::move(*box)});
        for (Region& rest : subtract(region, overlap.box))
          still_missing.push_back(std::move(rest));
      }
      missing = std::move(still_missing);
      if (missing.empty()) return;
    }
    throw UserError(text("[layout] elements of a tensor of shape ",
                         to_.shape,
                         ": expected a holder for each, got none at offset ",
                         missing.front().offset,
                         " extent ",
                         missing.front().extent));
  }

  const Layout& from_;
  const Layout& to_;
  Sources sources_;
  std::vector<Route> routes_;
};

}  // namespace

std::vector<Route> plan_routes(const Layout& from, const Layout& to) {
  TITAN_USER_CHECK(from.shape == to.shape,
                   "[layout] shape: expected ",
                   from.shape,
                   " as the source has, got ",
                   to.shape);
  for (const Layout* layout : {&from, &to})
    for (const Piece& piece : layout->pieces)
      TITAN_CHECK(is_within(piece.region, layout->shape),
                  "[layout] piece: expected it inside shape ",
                  layout->shape,
                  ", got offset ",
                  piece.region.offset,
                  " extent ",
                  piece.region.extent);
  return Planner(from, to).plan();
}

}  // namespace titan::layout

// SPDX-License-Identifier: BSD-3-Clause
// The one reshard planner: which box goes from whom to whom when a tensor
// changes its layout. Pure; the caller moves the bytes, out of files, over a
// wire or in memory. Serves loading a checkpoint under another layout,
// optimizer compute layouts, weight sync, a changed number of ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "core/layout/placement.h"

namespace titan::layout {

/// `box` of from.pieces[from] goes into to.pieces[to].
struct Route {
  std::size_t from = 0;
  std::size_t to = 0;
  Region box;
};

/// Routes that fill each element of each piece of `to` exactly once, by rising
/// `to`. An element that its holder has already comes from itself; replicas
/// share the rest of the work by the number of the receiver. Takes about
/// (pieces of `to`) x (pieces that overlap each) steps. Throws UserError when
/// shapes differ or an element is wanted that nobody holds.
std::vector<Route> plan_routes(const Layout& from, const Layout& to);

}  // namespace titan::layout

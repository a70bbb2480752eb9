// SPDX-License-Identifier: BSD-3-Clause
// The named mesh as one rank sees it: its coordinates and a group per axis.
// World rank order, outer to inner: pp, dp_replicate, dp_shard, cp, tp.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/dist/group.h"

namespace titan::dist {

struct Axis {
  std::string name;
  int64_t size = 1;
};

class Mesh {
 public:
  /// One rank, no communication.
  static Mesh single();

  int64_t world() const { return world_group_->size(); }
  int64_t rank() const { return world_group_->rank(); }
  /// BugError for an unknown axis. Axes: pp, dp_replicate, dp_shard, cp, tp and
  /// the flattened "dp" (dp_replicate x dp_shard) and "world".
  int64_t size(std::string_view axis) const;
  int64_t coordinate(std::string_view axis) const;
  Group& group(std::string_view axis) const;

  struct Entry {
    int64_t coordinate = 0;
    std::shared_ptr<Group> group;
  };
  Mesh(std::shared_ptr<Group> world, std::map<std::string, Entry> axes)
      : world_group_(std::move(world)), axes_(std::move(axes)) {}

 private:
  std::shared_ptr<Group> world_group_;
  std::map<std::string, Entry> axes_;
};

/// The mesh as rank 0 of `axes` sees it, without the other ranks: collectives
/// move nothing. For estimates by shapes, never for values.
Mesh fake_mesh(const std::vector<Axis>& axes);

/// How long a rank waits for the others before the run is given up.
inline constexpr std::chrono::minutes kDefaultTimeout{10};

/// Runs `body` once per rank on threads of this process with a mesh of `local`
/// groups; axes that are not named have one rank. A rank computes with one
/// thread. The first failure aborts the others and is rethrown with its rank
/// named and its kind kept. One rank runs on the calling thread, unchanged.
void run_local_ranks(const std::vector<Axis>& axes,
                     const std::function<void(Mesh&)>& body,
                     std::chrono::milliseconds timeout = kDefaultTimeout);

}  // namespace titan::dist

// SPDX-License-Identifier: BSD-3-Clause
// Groups whose ranks are threads of one process: the whole of parallelism runs
// and is tested on a laptop. Why not c10d: docs/adr/0010-local-groups.md.
// Who uses it: run_local_ranks (mesh.h).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/dist/group.h"

namespace titan::dist {

/// What all groups of one run share: when one aborts, all wake.
class LocalRun {
 public:
  explicit LocalRun(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  ~LocalRun();

  /// Makes a group over these world ranks; element i serves world_ranks[i], and
  /// only its thread may call it. `axis` is for messages.
  std::vector<std::shared_ptr<Group>> make_group(
      const std::string& axis,
      const std::vector<int64_t>& world_ranks);

  /// Wakes every waiting rank of every group; the first reason stays.
  void abort(const std::string& reason);
  std::chrono::milliseconds timeout() const { return timeout_; }

 private:
  struct Exchange;
  class LocalGroup;

  const std::chrono::milliseconds timeout_;
  std::vector<std::shared_ptr<Exchange>> exchanges_;
};

}  // namespace titan::dist

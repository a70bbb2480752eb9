// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/AutogradState.h>
#include <catch2/catch.hpp>

#include "core/dist/mesh.h"
#include "core/observe/log.h"

namespace titan::dist {

TEST_CASE("ranks lie in the mesh in order pp, dp_replicate, dp_shard, cp, tp") {
  const std::vector<Axis> axes = {
      {"pp", 2}, {"dp_replicate", 2}, {"dp_shard", 2}, {"tp", 2}};
  std::vector<std::vector<int64_t>> seen(16);
  run_local_ranks(axes, [&](Mesh& mesh) {
    auto& mine = seen[static_cast<size_t>(mesh.rank())];
    for (const char* axis :
         {"pp", "dp_replicate", "dp_shard", "cp", "tp", "dp"})
      mine.push_back(mesh.coordinate(axis));
    // Who else is in each group: the sum of world ranks tells them apart.
    for (const char* axis : {"pp", "tp", "dp", "world"}) {
      at::Tensor sum = at::tensor({mesh.rank()});
      mesh.group(axis).all_reduce(sum);
      mine.push_back(sum.item<int64_t>());
    }
  });
  // World rank 11 = ((1 * 2 + 0) * 2 + 1) * 2 + 1.
  CHECK(seen[11] ==
        std::vector<int64_t>{
            1, 0, 1, 0, 1, 1, 3 + 11, 10 + 11, 9 + 11 + 13 + 15, 120});
  CHECK(seen[0] ==
        std::vector<int64_t>{0, 0, 0, 0, 0, 0, 8, 1, 0 + 2 + 4 + 6, 120});
}

TEST_CASE("a rank thread computes alone and the caller gets its threads back") {
  const int before = at::get_num_threads();
  std::vector<int> threads(2), ranks(2);
  bool is_threaded = true;
  run_local_ranks({{"tp", 2}}, [&](Mesh& mesh) {
    const auto rank = static_cast<size_t>(mesh.rank());
    threads[rank] = at::get_num_threads();
    ranks[rank] = log::rank();
    if (rank == 0)
      is_threaded =
          c10::AutogradState::get_tls_state().get_multithreading_enabled();
  });
  CHECK(threads == std::vector<int>{1, 1});
  CHECK(ranks == std::vector<int>{0, 1});
  CHECK_FALSE(is_threaded);
  CHECK(at::get_num_threads() == before);
}

TEST_CASE("one rank needs no thread and no group") {
  bool ran = false;
  run_local_ranks({{"tp", 1}}, [&](Mesh& mesh) {
    ran = mesh.world() == 1 && mesh.size("dp") == 1;
  });
  CHECK(ran);
}

}  // namespace titan::dist

// SPDX-License-Identifier: BSD-3-Clause
#include "core/dist/mesh.h"

#include <titan/error.h>

namespace titan::dist {

Mesh Mesh::single() {
  std::map<std::string, Entry> axes;
  for (const char* name :
       {"pp", "dp_replicate", "dp_shard", "cp", "tp", "dp", "world"})
    axes[name] = {0, single_rank_group()};
  return Mesh(single_rank_group(), std::move(axes));
}

namespace {

const Mesh::Entry& find(const std::map<std::string, Mesh::Entry>& axes,
                        std::string_view axis) {
  const auto found = axes.find(std::string(axis));
  TITAN_CHECK(found != axes.end(),
              "[mesh] axis: expected pp, dp_replicate, "
              "dp_shard, cp, tp, dp or world, got '",
              axis,
              "'");
  return found->second;
}

}  // namespace

int64_t Mesh::size(std::string_view axis) const {
  return find(axes_, axis).group->size();
}

int64_t Mesh::coordinate(std::string_view axis) const {
  return find(axes_, axis).coordinate;
}

Group& Mesh::group(std::string_view axis) const {
  return *find(axes_, axis).group;
}

}  // namespace titan::dist

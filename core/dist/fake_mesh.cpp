// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 of any number of ranks that do not exist: what a layout of thousands
// of ranks costs one of them is found on a laptop (core/train/memory_estimate).
#include <titan/error.h>

#include "core/dist/group.h"
#include "core/dist/mesh.h"

namespace titan::dist {
namespace {

// Verbs leave their results as they are: nobody reads values of a fake run.
class FakeGroup final : public Group {
 public:
  explicit FakeGroup(int64_t size) : size_(size) {}
  int64_t rank() const override { return 0; }
  int64_t size() const override { return size_; }
  void all_reduce(at::Tensor&) override {}
  void all_reduce_max(at::Tensor&) override {}
  void all_gather(at::Tensor&, const at::Tensor&) override {}
  void reduce_scatter(at::Tensor&, const at::Tensor&) override {}
  void broadcast(at::Tensor&, int64_t) override {}
  void send(const at::Tensor&, int64_t, int64_t) override {}
  void receive(at::Tensor&, int64_t, int64_t) override {}
  void barrier() override {}
  void abort(const std::string&) override {}

 private:
  int64_t size_;
};

}  // namespace

Mesh fake_mesh(const std::vector<Axis>& axes) {
  std::map<std::string, int64_t> sizes;
  for (const char* name : {"pp", "dp_replicate", "dp_shard", "cp", "tp"})
    sizes[name] = 1;
  for (const Axis& axis : axes) {
    TITAN_CHECK(sizes.count(axis.name) == 1,
                "[mesh] axis: expected pp, dp_replicate, dp_shard, cp or tp, "
                "got '",
                axis.name,
                "'");
    sizes[axis.name] = axis.size;
  }
  int64_t world = 1;
  for (const auto& [name, size] : sizes) world *= size;
  sizes["dp"] = sizes["dp_replicate"] * sizes["dp_shard"];
  sizes["world"] = world;
  std::map<std::string, Mesh::Entry> entries;
  for (const auto& [name, size] : sizes)
    entries[name] = {0, std::make_shared<FakeGroup>(size)};
  auto all = entries["world"].group;
  return Mesh(std::move(all), std::move(entries));
}

}  // namespace titan::dist

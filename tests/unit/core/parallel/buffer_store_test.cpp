// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/buffer_store.h"

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

namespace titan::parallel {
namespace {

/// One item with a buffer of each kind.
struct BufferedItem {
  BufferedItem()
      : item(tree.add_module(tree.root(), "item")),
        running(add("running", TITAN_BUFFER_PERSISTENT)),
        counts(add("counts", TITAN_BUFFER_STATISTIC | TITAN_BUFFER_UNSAVED)),
        constant(add("constant", 0)) {
    tree.sequence("").items.emplace_back().module = &item;
  }

  module::Buffer& add(std::string_view name, uint32_t flags) {
    const int64_t dims[] = {3};
    titan_tensor_spec spec{};
    spec.struct_size = sizeof(spec);
    spec.dtype = TITAN_DTYPE_F32;
    spec.dims = dims;
    spec.num_dims = 1;
    spec.name = {name.data(), name.size()};
    return tree.add_buffer(item, spec, flags);
  }

  module::ModuleTree tree;
  module::Module& item;
  module::Buffer &running, &counts, &constant;
};

}  // namespace

TEST_CASE("only persistent buffers can be set, to values of their shape",
          "[unit]") {
  const BufferedItem of;
  BufferStore store(of.tree, {"item"}, at::kFloat);
  const at::Tensor value = at::arange(3, at::kDouble);
  store.set(of.running, value);
  CHECK(at::equal(store.value(of.running), value.to(at::kFloat)));
  CHECK_THROWS_WITH(store.set(of.running, at::zeros({2})),
                    "[model item.running] set: expected shape (3), got (2)");
  CHECK_THROWS_WITH(store.set(of.counts, value),
                    "[model item.counts] set: expected a persistent buffer, "
                    "got a statistic");
  CHECK_THROWS_WITH(store.set(of.constant, value),
                    "[model item.constant] set: expected a persistent buffer, "
                    "got a constant");
}

TEST_CASE("a statistic can stay out of checkpoints and still counts",
          "[unit]") {
  const BufferedItem of;
  BufferStore store(of.tree, {"item"}, at::kFloat);
  std::vector<std::string> saved;
  for (const auto& entry : store.entries())
    if (entry.is_saved()) saved.push_back(entry.buffer->fqn);
  CHECK(saved == std::vector<std::string>{"item.running"});
  const dist::Mesh mesh = dist::Mesh::single();
  store.accumulate(of.counts, at::ones({3}, at::kLong));
  store.accumulate(of.counts, at::ones({3}, at::kLong));
  CHECK(store.value(of.counts).eq(0).all().item<bool>());
  store.commit(mesh);
  CHECK(store.value(of.counts).eq(2).all().item<bool>());
  store.commit(mesh);
  CHECK(store.value(of.counts).eq(0).all().item<bool>());
  CHECK_THROWS_WITH(store.accumulate(of.constant, at::ones({3})),
                    Catch::Contains("got a constant"));
}

}  // namespace titan::parallel

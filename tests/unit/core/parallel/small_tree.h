// SPDX-License-Identifier: BSD-3-Clause
// A decoder-shaped module tree without code: embed, two layers, norm, head.
#pragma once

#include <string>
#include <vector>

#include "core/module/tree.h"

namespace titan::parallel {

class SmallTree {
 public:
  SmallTree() {
    module::Module& root = tree.root();
    item(add(root, "embed", {12, 8}, TITAN_SHARD_VOCAB, 1));
    module::Module& layers = tree.container(root, "layers");
    for (const char* name : {"0", "1"}) {
      module::Module& layer = tree.add_module(layers, name);
      add(layer, "up", {16, 8}, TITAN_SHARD_COLUMN, 4);
      add(layer, "down", {8, 16}, TITAN_SHARD_ROW, 4);
      item(layer);
    }
    item(add(root, "norm", {8}, TITAN_SHARD_REPLICATE, 1));
    module::Output output;
    output.kind = TITAN_OUTPUT_LANGUAGE_MODEL;
    output.head = &add(root, "head", {12, 8}, TITAN_SHARD_VOCAB, 1);
    tree.set_output(output);
  }

  module::ModuleTree tree;

 private:
  module::Module& add(module::Module& parent,
                      const char* name,
                      std::vector<int64_t> dims,
                      int32_t shard,
                      int64_t granule) {
    module::Module& made = tree.add_module(parent, name);
    titan_parameter_spec spec = {};
    spec.struct_size = sizeof(spec);
    spec.name = {"weight", 6};
    spec.dims = dims.data();
    spec.num_dims = static_cast<uint32_t>(dims.size());
    spec.shard = shard;
    spec.shard_granule = granule;
    tree.add_parameter(made, spec);
    return made;
  }
  void item(module::Module& module) {
    module::Item entry;
    entry.module = &module;
    tree.sequence("").items.push_back(entry);
  }
};

}  // namespace titan::parallel

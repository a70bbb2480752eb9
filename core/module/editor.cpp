// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/editor.h"

#include <algorithm>
#include <map>

#include <titan/error.h>

#include "core/module/builder.h"
#include "core/module/tree.h"
#include "core/op/select.h"
#include "core/plugin/abi_call.h"

namespace titan::module {
namespace {

using plugin::guard_call;
using plugin::view;

// How many leaves use each parameter.
std::map<const Parameter*, int64_t> count_users(const ModuleTree& tree) {
  std::map<const Parameter*, int64_t> users;
  for (const auto& module : tree.modules())
    for (const Parameter* parameter : module->parameters) ++users[parameter];
  return users;
}

titan_parameter_spec spec_of(const Parameter& parameter) {
  titan_parameter_spec spec = {};
  spec.struct_size = sizeof(spec);
  spec.init = static_cast<int32_t>(parameter.init.kind);
  const std::string_view fqn = parameter.fqn;
  const size_t dot = fqn.rfind('.');
  spec.name = plugin::abi_str(
      dot == std::string_view::npos ? fqn : fqn.substr(dot + 1));
  spec.dims = parameter.shape.data();
  spec.num_dims = static_cast<uint32_t>(parameter.shape.size());
  spec.shard = static_cast<int32_t>(parameter.shard);
  spec.shard_granule = parameter.shard_granule;
  spec.mean = parameter.init.mean;
  spec.std = parameter.init.std;
  spec.low = parameter.init.low;
  spec.high = parameter.init.high;
  return spec;
}

void give_leaf(const ModuleTree& tree,
               Module& leaf,
               const std::map<const Parameter*, int64_t>& users,
               const titan_leaf_sink& sink) {
  std::vector<titan_parameter_spec> specs;
  std::vector<titan_parameter*> handles;
  titan_leaf_info info = {};
  info.struct_size = sizeof(info);
  if (tree.output().head == &leaf) info.flags |= TITAN_LEAF_HEAD;
  if (leaf.adapter != nullptr) info.flags |= TITAN_LEAF_ADAPTED;
  for (Parameter* parameter : leaf.parameters) {
    if (users.at(parameter) > 1) info.flags |= TITAN_LEAF_TIED;
    specs.push_back(spec_of(*parameter));
    handles.push_back(reinterpret_cast<titan_parameter*>(parameter));
  }
  std::vector<const titan_parameter_spec*> pointers;
  for (const titan_parameter_spec& spec : specs) pointers.push_back(&spec);
  const std::string op_id = leaf.leaf_site->slot.spec().id;
  info.fqn = plugin::abi_str(leaf.fqn);
  info.op_id = plugin::abi_str(op_id);
  info.module = reinterpret_cast<titan_module*>(&leaf);
  info.parameters = pointers.data();
  info.handles = handles.data();
  info.num_parameters = handles.size();
  sink.add(sink.self, &info);
}

int32_t leaves(titan_builder* builder,
               const titan_leaf_sink* sink,
               titan_error* error) {
  return guard_call(error, [&] {
    const ModuleTree& tree = tree_of(builder);
    const auto users = count_users(tree);
    for (const auto& module : tree.modules())
      if (module->is_leaf()) give_leaf(tree, *module, users, *sink);
  });
}

int32_t matches(titan_str pattern,
                titan_str fqn,
                int32_t* out,
                titan_error* error) {
  return guard_call(error, [&] {
    op::check_fqn_pattern(view(pattern), "[adapter]");
    *out = op::fqn_matches(view(pattern), view(fqn)) ? 1 : 0;
  });
}

int32_t adapt(titan_builder* builder,
              titan_module* module,
              const titan_adapter_spec* spec,
              titan_error* error) {
  return guard_call(error, [&] {
    const ModuleTree& tree = tree_of(builder);
    Module& leaf = *reinterpret_cast<Module*>(module);
    TITAN_USER_CHECK(
        leaf.is_leaf() && leaf.adapter == nullptr,
        "[adapter] ",
        leaf.fqn,
        ": expected a leaf that nothing adapts yet, got ",
        leaf.is_leaf() ? "one that has an adapter" : leaf.class_name());
    TITAN_USER_CHECK(tree.output().head != &leaf,
                     "[adapter] ",
                     leaf.fqn,
                     ": expected a leaf that the model calls, got its head, "
                     "which the host fuses with the loss");
    auto adapter = std::make_unique<Adapter>();
    adapter->label = view(spec->code->name);
    adapter->code = copy_class(*spec->code);
    adapter->code.name = plugin::abi_str(adapter->label);
    adapter->self = spec->self;
    adapter->derives = (spec->flags & TITAN_ADAPTER_DERIVES) != 0;
    for (Module* child : leaf.children)
      for (Parameter* parameter : tree.parameters_of(*child)) {
        parameter->adapts = &leaf;
        adapter->parameters.push_back(parameter);
      }
    leaf.adapter = std::move(adapter);
  });
}

int32_t freeze_model(titan_builder* builder, titan_error* error) {
  return guard_call(error, [&] {
    for (const auto& parameter : tree_of(builder).parameters())
      if (parameter->adapts == nullptr) parameter->is_trainable = false;
  });
}

}  // namespace

const titan_editor_api& editor_api() {
  static const titan_editor_api api = {
      .struct_size = sizeof(titan_editor_api),
      .reserved = 0,
      .leaves = leaves,
      .matches = matches,
      .adapt = adapt,
      .freeze_model = freeze_model,
  };
  return api;
}

}  // namespace titan::module

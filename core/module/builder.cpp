// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/builder.h"

#include <titan/error.h>

#include "core/observe/spans.h"
#include "core/op/catalogue.h"
#include "core/plugin/abi_call.h"

namespace titan::module {
namespace {

using plugin::guard_call;
using plugin::view;

Module& module_of(titan_module* module) {
  TITAN_USER_CHECK(module != nullptr,
                   "[builder] parent: expected a module, got null");
  return *reinterpret_cast<Module*>(module);
}
titan_module* as_abi(Module& module) {
  return reinterpret_cast<titan_module*>(&module);
}

std::unique_ptr<Site> make_site(const ModuleTree& tree,
                                const std::string& fqn,
                                const std::string& site,
                                const titan_op_spec& spec,
                                Module* leaf) {
  const auto attributes = op::Attributes::from_abi(
      {spec.attributes, static_cast<size_t>(spec.num_attributes)});
  const std::string name = site.empty()  ? fqn
                           : fqn.empty() ? site
                                         : text(fqn, '.', site);
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate.
  return std::unique_ptr<Site>(new Site{op::Slot(op::find_op(view(spec.op_id)),
                                                 fqn,
                                                 site,
                                                 attributes,
                                                 tree.selector()),
                                        leaf,
                                        intern_span_name(name)});
}

titan_module* root(titan_builder* builder) {
  return as_abi(tree_of(builder).root());
}

int32_t add_module(titan_builder* builder,
                   titan_module* parent,
                   titan_str name,
                   const titan_module_class* code,
                   void* self,
                   titan_module** out,
                   titan_error* error) {
  return guard_call(error, [&] {
    TITAN_USER_CHECK(code != nullptr && code->forward != nullptr,
                     "[builder ",
                     view(name),
                     "] module class: expected a forward function, got null");
    Module& module = tree_of(builder).add_module(module_of(parent), view(name));
    // The caller's description may live on its stack: keep a copy.
    module.class_label = view(code->name);
    titan_module_class kept = copy_class(*code);
    kept.name = plugin::abi_str(module.class_label);
    module.code = std::make_unique<const titan_module_class>(kept);
    module.self = self;
    *out = as_abi(module);
  });
}

int32_t add_container(titan_builder* builder,
                      titan_module* parent,
                      titan_str name,
                      titan_module** out,
                      titan_error* error) {
  return guard_call(error, [&] {
    *out = as_abi(tree_of(builder).container(module_of(parent), view(name)));
  });
}

int32_t add_leaf(titan_builder* builder,
                 titan_module* parent,
                 titan_str name,
                 const titan_op_spec* spec,
                 titan_module** out,
                 titan_slot** slot,
                 titan_error* error) {
  return guard_call(error, [&] {
    ModuleTree& tree = tree_of(builder);
    Module& module = tree.add_module(module_of(parent), view(name));
    module.leaf_site = make_site(tree, module.fqn, "", *spec, &module);
    for (uint32_t i = 0; i < spec->num_parameters; ++i)
      tree.add_parameter(module, *spec->parameters[i]);
    *out = as_abi(module);
    if (slot != nullptr)
      *slot = reinterpret_cast<titan_slot*>(module.leaf_site.get());
  });
}

int32_t add_op(titan_builder* builder,
               titan_module* parent,
               titan_str site,
               const titan_op_spec* spec,
               titan_slot** out,
               titan_error* error) {
  return guard_call(error, [&] {
    Module& module =
        parent != nullptr ? module_of(parent) : tree_of(builder).root();
    module.sites.push_back(make_site(
        tree_of(builder), module.fqn, std::string(view(site)), *spec, nullptr));
    *out = reinterpret_cast<titan_slot*>(module.sites.back().get());
  });
}

int32_t add_parameter(titan_builder* builder,
                      titan_module* parent,
                      const titan_parameter_spec* spec,
                      titan_parameter** out,
                      titan_error* error) {
  return guard_call(error, [&] {
    *out = reinterpret_cast<titan_parameter*>(
        &tree_of(builder).add_parameter(module_of(parent), *spec));
  });
}

int32_t add_buffer(titan_builder* builder,
                   titan_module* parent,
                   const titan_tensor_spec* spec,
                   uint32_t flags,
                   titan_buffer** out,
                   titan_error* error) {
  return guard_call(error, [&] {
    *out = reinterpret_cast<titan_buffer*>(
        &tree_of(builder).add_buffer(module_of(parent), *spec, flags));
  });
}

int32_t set_initial(titan_builder*,
                    titan_buffer* buffer,
                    const void* data,
                    uint64_t size,
                    titan_error* error) {
  return guard_call(error, [&] {
    const auto* bytes = static_cast<const std::byte*>(data);
    reinterpret_cast<Buffer*>(buffer)->initial.assign(bytes, bytes + size);
  });
}

int32_t tie(titan_builder* builder,
            titan_module* owner,
            titan_module* alias,
            titan_str name,
            titan_error* error) {
  return guard_call(error, [&] {
    tree_of(builder).tie(module_of(owner), module_of(alias), view(name));
  });
}

int32_t add_sequence(titan_builder* builder,
                     titan_str name,
                     titan_sequence** out,
                     titan_error* error) {
  return guard_call(error, [&] {
    *out = reinterpret_cast<titan_sequence*>(
        &tree_of(builder).sequence(view(name)));
  });
}

CarrySpec carry_spec(const titan_tensor_spec& spec) {
  CarrySpec carry;
  carry.name = view(spec.name);
  carry.dims.assign(spec.dims, spec.dims + spec.num_dims);
  carry.dtype = spec.dtype;
  carry.is_differentiable = (spec.flags & TITAN_TENSOR_DIFFERENTIABLE) != 0;
  return carry;
}

int32_t add_item(titan_builder*,
                 titan_sequence* sequence,
                 titan_module* module,
                 const titan_item_spec* spec,
                 titan_error* error) {
  return guard_call(error, [&] {
    Item item;
    item.module = &module_of(module);
    for (uint32_t i = 0; i < spec->num_carry; ++i)
      item.carry.push_back(carry_spec(*spec->carry[i]));
    for (uint64_t i = 0; i < spec->num_side_inputs; ++i)
      item.side_inputs.emplace_back(view(spec->side_inputs[i]));
    for (uint64_t i = 0; i < spec->num_batch_inputs; ++i)
      item.batch_inputs.emplace_back(view(spec->batch_inputs[i]));
    reinterpret_cast<Sequence*>(sequence)->items.push_back(std::move(item));
  });
}

int32_t set_output(titan_builder* builder,
                   const titan_output_spec* spec,
                   titan_error* error) {
  return guard_call(error, [&] {
    Output output;
    output.kind = spec->kind;
    output.logit_scale = spec->logit_scale;
    output.logit_cap = spec->logit_cap;
    if (spec->kind == TITAN_OUTPUT_LANGUAGE_MODEL) {
      output.head = &module_of(spec->head);
      TITAN_USER_CHECK(output.head->is_leaf() &&
                           output.head->class_name() == "titan.linear/1",
                       "[model ",
                       output.head->fqn,
                       "] output head: expected a titan.linear/1 leaf, got ",
                       output.head->class_name());
    }
    tree_of(builder).set_output(output);
  });
}

}  // namespace

const titan_builder_api& builder_api() {
  static const titan_builder_api api = {
      .struct_size = sizeof(titan_builder_api),
      .reserved = 0,
      .root = root,
      .module = add_module,
      .container = add_container,
      .leaf = add_leaf,
      .op = add_op,
      .parameter = add_parameter,
      .buffer = add_buffer,
      .tie = tie,
      .sequence = add_sequence,
      .item = add_item,
      .output = set_output,
      .initial = set_initial,
  };
  return api;
}

}  // namespace titan::module

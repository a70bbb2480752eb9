// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/tree.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include <titan/error.h>

namespace titan::module {
namespace {

std::string_view view(titan_str value) {
  return {value.data, value.size};
}

std::string join(const std::string& parent, std::string_view name) {
  return parent.empty() ? std::string(name) : text(parent, '.', name);
}

void check_name(const Module& parent, std::string_view name) {
  TITAN_USER_CHECK(!name.empty() && name.find("..") == std::string_view::npos,
                   "[model ",
                   parent.fqn,
                   "] name of a child: expected a non-empty name, got '",
                   name,
                   "'");
}

// Counts up to here are exact as double too, and bytes and FLOPs of so many
// elements fit 64 bits.
constexpr int64_t kMaxElements = int64_t{1} << 53;

// The product of a shape; nothing where it exceeds `limit`.
std::optional<int64_t> elements_within(const std::vector<int64_t>& shape,
                                       int64_t limit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent > limit / count) return std::nullopt;
    count *= extent;
  }
  return count;
}

}  // namespace

titan_module_class copy_class(const titan_module_class& code) {
  titan_module_class out{};
  std::memcpy(&out,
              &code,
              std::min<size_t>(code.struct_size, sizeof(titan_module_class)));
  out.struct_size = sizeof(titan_module_class);
  return out;
}

int64_t Parameter::num_elements() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::string Module::class_name() const {
  if (code != nullptr) return class_label;
  if (leaf_site != nullptr) return leaf_site->slot.spec().id;
  return "container";
}

ModuleTree::ModuleTree() {
  modules_.push_back(std::make_unique<Module>());
}

const Sequence& ModuleTree::root_sequence() const {
  for (const auto& sequence : sequences_)
    if (sequence->name.empty()) return *sequence;
  throw UserError(
      "[model] root sequence: expected the model's build to declare its items, "
      "got none. Call item() for embed, blocks and norm.");
}

Parameter* ModuleTree::find_parameter(std::string_view fqn) const {
  for (const auto& parameter : parameters_)
    if (parameter->fqn == fqn) return parameter.get();
  return nullptr;
}

Module* ModuleTree::find_module(std::string_view fqn) const {
  for (const auto& module : modules_)
    if (module->fqn == fqn) return module.get();
  return nullptr;
}

int64_t ModuleTree::num_parameters() const {
  int64_t total = 0;
  for (const auto& parameter : parameters_) total += parameter->num_elements();
  return total;
}

std::vector<Parameter*> ModuleTree::parameters_of(const Module& module) const {
  std::vector<Parameter*> found;
  std::set<const Parameter*> seen;
  std::vector<const Module*> pending = {&module};
  while (!pending.empty()) {
    const Module* next = pending.back();
    pending.pop_back();
    for (Parameter* parameter : next->parameters)
      if (seen.insert(parameter).second) found.push_back(parameter);
    pending.insert(
        pending.end(), next->children.rbegin(), next->children.rend());
  }
  return found;
}

Module& ModuleTree::add_module(Module& parent, std::string_view name) {
  check_name(parent, name);
  const std::string fqn = join(parent.fqn, name);
  TITAN_USER_CHECK(find_module(fqn) == nullptr,
                   "[model ",
                   fqn,
                   "] module name: expected a new name, got one that exists");
  auto module = std::make_unique<Module>();
  module->name = name;
  module->fqn = fqn;
  module->parent = &parent;
  module->index = static_cast<int64_t>(modules_.size());
  parent.children.push_back(module.get());
  modules_.push_back(std::move(module));
  return *modules_.back();
}

Module& ModuleTree::container(Module& parent, std::string_view name) {
  Module* found = find_module(join(parent.fqn, name));
  if (found == nullptr) return add_module(parent, name);
  TITAN_USER_CHECK(found->code == nullptr && !found->is_leaf(),
                   "[model ",
                   found->fqn,
                   "] container: expected a new name, got that of ",
                   found->class_name());
  return *found;
}

Parameter& ModuleTree::add_parameter(Module& owner,
                                     const titan_parameter_spec& spec) {
  check_name(owner, view(spec.name));
  auto parameter = std::make_unique<Parameter>();
  parameter->fqn = join(owner.fqn, view(spec.name));
  parameter->shape.assign(spec.dims, spec.dims + spec.num_dims);
  for (int64_t extent : parameter->shape)
    TITAN_USER_CHECK(extent >= 0,
                     "[model ",
                     parameter->fqn,
                     "] shape: expected non-negative extents, got ",
                     parameter->shape);
  const auto count =
      elements_within(parameter->shape, kMaxElements - num_elements_);
  TITAN_USER_CHECK(count.has_value(),
                   "[model.config] sizes: expected a model of at most ",
                   kMaxElements,
                   " parameters, got ",
                   num_elements_,
                   " and then ",
                   parameter->fqn,
                   " of shape ",
                   parameter->shape,
                   ". Lower the sizes that make it.");
  num_elements_ += *count;
  TITAN_USER_CHECK(find_parameter(parameter->fqn) == nullptr,
                   "[model ",
                   parameter->fqn,
                   "] parameter name: expected a new name, got one that "
                   "exists");
  TITAN_USER_CHECK(
      spec.init >= TITAN_INIT_ZEROS && spec.init <= TITAN_INIT_LOG_UNIFORM,
      "[model ",
      parameter->fqn,
      "] init kind: expected 0 to 5, got ",
      spec.init);
  parameter->init = {static_cast<InitKind>(spec.init),
                     spec.mean,
                     spec.std,
                     spec.low,
                     spec.high};
  parameter->shard = static_cast<ShardHint>(spec.shard);
  parameter->shard_granule = std::max<int64_t>(1, spec.shard_granule);
  parameter->owner = &owner;
  parameter->index = static_cast<int64_t>(parameters_.size());
  owner.parameters.push_back(parameter.get());
  parameters_.push_back(std::move(parameter));
  return *parameters_.back();
}

Buffer& ModuleTree::add_buffer(Module& owner,
                               const titan_tensor_spec& spec,
                               uint32_t flags) {
  auto buffer = std::make_unique<Buffer>();
  buffer->fqn = join(owner.fqn, view(spec.name));
  buffer->shape.assign(spec.dims, spec.dims + spec.num_dims);
  buffer->dtype = spec.dtype;
  buffer->flags = flags;
  buffers_.push_back(std::move(buffer));
  return *buffers_.back();
}

Sequence& ModuleTree::sequence(std::string_view name) {
  for (const auto& sequence : sequences_)
    if (sequence->name == name) return *sequence;
  sequences_.push_back(std::make_unique<Sequence>());
  sequences_.back()->name = name;
  return *sequences_.back();
}

void ModuleTree::tie(Module& owner, Module& alias, std::string_view name) {
  const auto named = [&](Module& module) -> Parameter*& {
    for (Parameter*& parameter : module.parameters)
      if (parameter->fqn == join(module.fqn, name)) return parameter;
    throw UserError(text("[model ",
                         module.fqn,
                         "] tie: expected a parameter '",
                         name,
                         "', got none"));
  };
  Parameter* kept = named(owner);
  Parameter*& replaced = named(alias);
  TITAN_USER_CHECK(kept->shape == replaced->shape,
                   "[model ",
                   alias.fqn,
                   "] tie to ",
                   owner.fqn,
                   ": expected shape ",
                   kept->shape,
                   ", got ",
                   replaced->shape);
  // The alias's rule runs: a tied head decides how the table starts
  // (reference: TorchTitan skips the embedding's initialiser).
  kept->init = replaced->init;
  std::erase_if(parameters_, [&](const std::unique_ptr<Parameter>& item) {
    return item.get() == replaced;
  });
  replaced = kept;
  for (size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i]->index = static_cast<int64_t>(i);
}

}  // namespace titan::module

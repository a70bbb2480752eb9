// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/optimizer.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <titan/error.h>

#include "core/op/select.h"
#include "core/op/tensor_api.h"
#include "core/plugin/abi_call.h"

namespace titan::train {
namespace {

using parallel::LocalPart;
using plugin::check_call;
using plugin::make_error;

bool rule_matches(const GroupRule& rule, const std::string& fqn) {
  for (const std::string& pattern : rule.match)
    if (op::fqn_matches(pattern, fqn)) return true;
  return false;
}

const GroupRule* find_rule(const std::vector<GroupRule>& rules,
                           const std::string& fqn) {
  for (const GroupRule& rule : rules)
    if (rule_matches(rule, fqn)) return &rule;
  return nullptr;
}

struct StateSpec {
  std::string name;
  at::ScalarType dtype;
  bool is_like_parameter;
  std::vector<int64_t> dims;
};

void add_state(void* self, const titan_tensor_spec* spec) {
  static_cast<std::vector<StateSpec>*>(self)->push_back(
      {std::string(plugin::view(spec->name)),
       static_cast<at::ScalarType>(spec->dtype),
       (spec->flags & TITAN_STATE_LIKE_PARAMETER) != 0,
       std::vector<int64_t>(spec->dims, spec->dims + spec->num_dims)});
}

}  // namespace

void apply_frozen(module::ModuleTree& tree,
                  const std::vector<GroupRule>& rules) {
  for (const GroupRule& rule : rules)
    for (const std::string& pattern : rule.match) {
      op::check_fqn_pattern(pattern, "[optimizer.groups]");
      bool is_used = false;
      for (const auto& parameter : tree.parameters())
        is_used = is_used || op::fqn_matches(pattern, parameter->fqn);
      TITAN_USER_CHECK(is_used,
                       "[optimizer.groups] pattern '",
                       pattern,
                       "': expected it to match a parameter, got none. "
                       "`titan validate` prints the names.");
    }
  bool has_trained = false;
  for (const auto& parameter : tree.parameters()) {
    const GroupRule* rule = find_rule(rules, parameter->fqn);
    if (rule != nullptr && rule->is_frozen) parameter->is_trainable = false;
    has_trained = has_trained || parameter->is_trainable;
  }
  TITAN_USER_CHECK(has_trained,
                   "[optimizer.groups] parameters to train: expected some, got "
                   "none: the frozen groups hold all of them");
}

Optimizer::Optimizer(const titan_optimizer_table& table,
                     const titan_host_api& host,
                     std::shared_ptr<const void> keepalive,
                     std::string id,
                     config::Value config,
                     const std::vector<GroupRule>& rules,
                     const parallel::ParameterEngine& engine)
    : table_(table),
      keepalive_(std::move(keepalive)),
      id_(std::move(id)),
      config_(std::move(config), "optimizer.config"),
      engine_(engine) {
  TITAN_USER_CHECK((table.flags & TITAN_OPTIMIZER_ELEMENTWISE) != 0,
                   "[optimizer.use] ",
                   id_,
                   ": expected an ELEMENTWISE "
                   "optimizer (whole-matrix layouts are not executed yet), got "
                   "flags ",
                   table.flags);
  const config::Value* lr = config_.find("lr");
  TITAN_USER_CHECK(lr != nullptr && lr->is_number(),
                   "[optimizer.config.lr] expected a number, got ",
                   lr == nullptr ? "nothing" : config::describe_value(*lr));
  base_lr_ = lr->as_number();
  titan_error error = make_error();
  check_call(
      table_.create(&host, config_.as_abi(), &object_, &error), error, id_);
  // Group 0 is the rest: rules follow in their order.
  groups_.resize(rules.size() + 1);
  groups_.front().weight_decay = std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 0; i < rules.size(); ++i) {
    groups_[i + 1].lr_multiplier = rules[i].lr_multiplier;
    groups_[i + 1].weight_decay = rules[i].weight_decay;
  }
  states_.resize(engine.parts().size());
  for (size_t i = 0; i < engine.parts().size(); ++i) {
    const module::Parameter& parameter = *engine.parts()[i].parameter;
    if (!parameter.is_trainable) continue;
    const GroupRule* rule = find_rule(rules, parameter.fqn);
    groups_[rule == nullptr ? 0 : static_cast<size_t>(rule - rules.data()) + 1]
        .parts.push_back(i);
    make_states(i);
  }
  const auto unread = config_.unread();
  TITAN_USER_CHECK(unread.empty(),
                   "[",
                   unread.empty() ? "" : unread.front(),
                   "] option of ",
                   id_,
                   ": expected a key that the optimizer "
                   "reads, got one that it never looked at. Remove it.");
}

Optimizer::~Optimizer() {
  if (object_ != nullptr) table_.destroy(object_);
}

void Optimizer::make_states(size_t index) {
  const at::Tensor master = engine_.master(engine_.parts()[index]);
  const module::Parameter& parameter = *engine_.parts()[index].parameter;
  titan_tensor_spec spec = {};
  spec.struct_size = sizeof(spec);
  spec.dtype = static_cast<int32_t>(master.scalar_type());
  spec.dims = parameter.shape.data();
  spec.num_dims = static_cast<uint32_t>(parameter.shape.size());
  spec.name = plugin::abi_str(parameter.fqn);
  std::vector<StateSpec> specs;
  const titan_state_sink sink = {.struct_size = sizeof(titan_state_sink),
                                 .reserved = 0,
                                 .self = &specs,
                                 .add = add_state};
  titan_error error = make_error();
  check_call(table_.describe_state(object_, &spec, &sink, &error), error, id_);
  for (const StateSpec& state : specs)
    states_[index].push_back(
        {state.name,
         at::zeros(state.is_like_parameter ? master.sizes()
                                           : at::IntArrayRef(state.dims),
                   master.options().dtype(state.dtype)),
         state.is_like_parameter});
}

void Optimizer::step(double lr, int64_t step, const at::Tensor& grad_scale) {
  at::NoGradGuard no_grad;
  const at::Tensor lr_value = at::scalar_tensor(lr, at::kDouble);
  const at::Tensor step_value =
      at::scalar_tensor(static_cast<double>(step), at::kDouble);
  for (const Group& group : groups_) {
    std::vector<at::Tensor> owned;
    std::vector<titan_tensor> params, grads, states;
    owned.reserve(group.parts.size() * 2);
    uint32_t num_states = 0;
    for (size_t index : group.parts) {
      const LocalPart& part = engine_.parts()[index];
      const at::Tensor gradient = engine_.gradient(part);
      if (!gradient.defined() || gradient.numel() == 0) continue;
      owned.push_back(engine_.master(part));
      params.push_back(op::lend(owned.back()));
      owned.push_back(gradient);
      grads.push_back(op::lend(owned.back()));
      num_states = static_cast<uint32_t>(states_[index].size());
      for (const OptimizerState& state : states_[index])
        states.push_back(op::lend(state.value));
    }
    if (params.empty()) continue;
    titan_optimizer_call call = {};
    call.struct_size = sizeof(call);
    call.num_params = static_cast<uint32_t>(params.size());
    call.num_states = num_states;
    call.params = params.data();
    call.grads = grads.data();
    call.states = states.data();
    call.lr = op::lend(lr_value);
    call.step = op::lend(step_value);
    call.grad_scale = op::lend(grad_scale);
    call.lr_multiplier = group.lr_multiplier;
    call.weight_decay = group.weight_decay;
    titan_error error = make_error();
    check_call(table_.step(object_, &call, &error), error, id_);
  }
}

int64_t Optimizer::bytes_states() const {
  int64_t bytes = 0;
  for (const auto& part : states_)
    for (const OptimizerState& state : part)
      bytes += static_cast<int64_t>(state.value.nbytes());
  return bytes;
}

std::string Optimizer::describe() const {
  std::string lines;
  for (size_t g = 0; g < groups_.size(); ++g)
    for (size_t index : groups_[g].parts)
      lines += text(engine_.parts()[index].parameter->fqn,
                    "  group ",
                    g,
                    "  lr x",
                    groups_[g].lr_multiplier,
                    "  weight_decay ",
                    std::isnan(groups_[g].weight_decay)
                        ? std::string("default")
                        : text(groups_[g].weight_decay),
                    '\n');
  return lines;
}

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/selective_recompute.h"

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/op/registered_op.h"
#include "core/op/slot.h"

namespace titan::dispatch {
namespace {

/// A new tensor object on the same storage: the kept one must not carry the
/// autograd history that forward puts on its own.
c10::IValue alias_of(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return value;
  const NoModesGuard no_modes;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return at::alias(value.toTensor());
}

/// Which gradients the recompute may ask a catalogue's forward at `first` for:
/// a kernel need not fill the saved tensors of a forward without any.
void want_gradients(torch::jit::Stack& stack, size_t first) {
  const op::RegisteredOp& registered =
      op::find_binding(stack[first].toInt()).call_site->registered;
  uint64_t want = 0;
  for (size_t i = 0; i < registered.spec.inputs.size(); ++i)
    if (registered.differentiable >> i & 1 && stack[first + 2 + i].isTensor() &&
        stack[first + 2 + i].toTensor().defined())
      want |= uint64_t{1} << i;
  stack[first + 1] = static_cast<int64_t>(want);
}

bool is_catalogue_forward(const c10::OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  const std::string& name = op.operator_name().name;
  return name.rfind("titan::", 0) == 0 && !name.ends_with("_backward") &&
         arguments.size() > 1 && arguments[0].name() == "call" &&
         arguments[1].name() == "want";
}

}  // namespace

bool RecomputeCache::empty() const {
  for (const auto& [name, kept] : outputs)
    if (!kept.empty()) return false;
  return true;
}

void SaveOutputs::call(const c10::OperatorHandle& op,
                       c10::DispatchKeySet keys,
                       torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  const size_t below = stack->size() - op.schema().arguments().size();
  const bool is_kept = ops_.find(name) != ops_.end();
  if (is_kept && is_catalogue_forward(op)) want_gradients(*stack, below);
  call_next(op, keys, stack);
  if (!is_kept) return;
  RecomputeCache::Outputs kept;
  for (size_t i = below; i < stack->size(); ++i)
    kept.push_back(alias_of((*stack)[i]));
  cache_.outputs[name].push_back(std::move(kept));
}

void ReuseOutputs::call(const c10::OperatorHandle& op,
                        c10::DispatchKeySet keys,
                        torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  if (ops_.find(name) == ops_.end()) {
    call_next(op, keys, stack);
    return;
  }
  auto& kept = cache_.outputs[name];
  TITAN_CHECK(!kept.empty(),
              "[recompute] ",
              name,
              " is called more often than in forward: expected the same calls");
  stack->resize(stack->size() - op.schema().arguments().size());
  for (const c10::IValue& value : kept.front())
    stack->push_back(alias_of(value));
  kept.pop_front();
}

}  // namespace titan::dispatch

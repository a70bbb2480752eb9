// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/selective_recompute.h"

#include <ATen/ATen.h>

#include <titan/error.h>

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
  call_next(op, keys, stack);
  if (ops_.find(name) == ops_.end()) return;
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

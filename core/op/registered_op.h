// SPDX-License-Identifier: BSD-3-Clause
// An op of the catalogue together with its two dispatcher ops.
//   titan::name(int call, int want, inputs...) -> (outputs..., own saved...)
//   titan::name_backward(int call, int want, grad_outputs..., inputs...,
//                        saved...) -> (one gradient per differentiable input)
// `call` is Binding::id. "Own saved" are the saved tensors that are no outputs.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>

#include "core/op/spec.h"

namespace titan::op {

struct Binding;

struct RegisteredOp {
  explicit RegisteredOp(OpSpec op_spec);

  OpSpec spec;
  std::optional<c10::OperatorHandle> forward;
  std::optional<c10::OperatorHandle> backward;
  /// Per saved tensor: the output that it is, or -1.
  std::vector<int64_t> saved_outputs;
  size_t num_own_saved = 0;
  uint64_t differentiable = 0;  // bit i: input i
  bool has_mutation = false;
};

/// The registered op of a spec that find_op returned.
const RegisteredOp& registered(const OpSpec& spec);

/// Defines the dispatcher ops (dispatcher.cpp). [thread: loader]
void register_with_dispatcher(RegisteredOp& op);

/// Boxed kernel of the Autograd keys for forward (autograd.cpp).
void autograd_forward(const c10::OperatorHandle& op,
                      c10::DispatchKeySet keys,
                      torch::jit::Stack* stack);

/// Makes find_binding(binding.id) a compare, while alive on this thread.
class CurrentBinding {
 public:
  explicit CurrentBinding(const Binding& binding);
  ~CurrentBinding();
  CurrentBinding(const CurrentBinding&) = delete;
  CurrentBinding& operator=(const CurrentBinding&) = delete;

 private:
  const Binding* outer_;
};

/// Calls titan::name_backward; returns one tensor per input, undefined where
/// not wanted.
std::vector<at::Tensor> call_backward(const Binding& binding,
                                      const BackwardCall& call);

}  // namespace titan::op

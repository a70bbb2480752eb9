// SPDX-License-Identifier: BSD-3-Clause
// Backward of an op that has no explicit one: run the reference forward again
// with autograd on, and differentiate that.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <titan/error.h>

#include "core/op/kernel.h"

namespace titan::op {
std::vector<at::Tensor> reference_vjp(const OpSpec& spec,
                                      const BackwardCall& call) {
  // Kernels run below autograd; here it must record.
  const auto local = c10::impl::tls_local_dispatch_key_set();
  const c10::impl::ForceDispatchKeyGuard record(
      local.included_,
      local.excluded_ - c10::autograd_dispatch_keyset -
          c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView));
  const c10::AutoGradMode grad_mode(true);
  std::vector<at::Tensor> inputs, wanted;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const bool is_wanted = call.want >> i & 1;
    at::Tensor input = call.inputs[i];
    if (input.defined()) input = input.detach();
    if (is_wanted) {
      input.requires_grad_(true);
      wanted.push_back(input);
    }
    inputs.push_back(std::move(input));
  }
  const ForwardResult result =
      spec.forward({call.attributes, inputs, 0, call.seed});
  std::vector<at::Tensor> outputs, grads;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    if (!call.grad_outputs[i].defined() || !result.outputs[i].requires_grad())
      continue;
    outputs.push_back(result.outputs[i]);
    grads.push_back(call.grad_outputs[i]);
  }
  std::vector<at::Tensor> found(wanted.size());
  if (!outputs.empty())
    found = torch::autograd::grad(
        outputs, wanted, grads, std::nullopt, false, true);
  std::vector<at::Tensor> out(call.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!(call.want >> i & 1)) continue;
    out[i] = found[next++];
    if (!out[i].defined()) out[i] = at::zeros_like(call.inputs[i]);
  }
  return out;
}

}  // namespace titan::op

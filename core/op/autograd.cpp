// SPDX-License-Identifier: BSD-3-Clause
// The host's autograd for catalogue ops: one node class for all of them. The
// node holds the binding, hence the kernel that ran forward and its library,
// until it is freed; backward runs that kernel with a mask of the gradients
// wanted.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <titan/error.h>

#include "core/op/node_pointer.h"
#include "core/op/registered_op.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

class OpNode : public torch::autograd::Node {
 public:
  explicit OpNode(std::shared_ptr<const Binding> binding)
      : binding_(std::move(binding)) {}

  variable_list apply(variable_list&& grad_outputs) override;
  void release_variables() override {
    std::lock_guard lock(mutex_);
    inputs_.clear();
    saved_.clear();
    is_released_ = true;
  }
  std::string name() const override {
    return "titan::" + binding_->call_site->spec.name();
  }

  void save(const std::vector<at::Tensor>& inputs,
            const std::vector<at::Tensor>& saved) {
    const RegisteredOp& op = binding_->call_site->registered;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_kept = op.spec.inputs[i].keep_for_backward;
      inputs_.emplace_back(is_kept ? inputs[i] : at::Tensor(), false);
    }
    for (size_t i = 0; i < saved.size(); ++i)
      saved_.emplace_back(saved[i], op.saved_outputs[i] >= 0);
  }

 private:
  std::shared_ptr<const Binding> binding_;
  std::vector<SavedVariable> inputs_;
  std::vector<SavedVariable> saved_;
  bool is_released_ = false;
};

variable_list OpNode::apply(variable_list&& grad_outputs) {
  const CallSite& site = *binding_->call_site;
  TITAN_USER_CHECK(!at::GradMode::is_enabled(),
                   site.where(),
                   " has no second derivative: expected create_graph off");
  std::lock_guard lock(mutex_);
  TITAN_USER_CHECK(!is_released_,
                   site.where(),
                   " backward a second time: expected retain_graph, but the "
                   "saved tensors were freed");
  uint64_t want = 0;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (task_should_compute_output(i)) want |= uint64_t{1} << i;
  bool has_gradient = false;
  for (const at::Tensor& grad : grad_outputs)
    has_gradient = has_gradient || grad.defined();
  if (want == 0 || !has_gradient) return variable_list(inputs_.size());
  std::vector<at::Tensor> inputs, saved;
  inputs.reserve(inputs_.size());
  for (const SavedVariable& input : inputs_) inputs.push_back(input.unpack());
  saved.reserve(saved_.size());
  for (const SavedVariable& tensor : saved_)
    saved.push_back(tensor.unpack(pointer_to(*this)));
  grad_outputs.resize(site.spec.outputs.size());
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return call_backward(*binding_,
                       {site.attributes, inputs, saved, grad_outputs, want, 0});
}

uint64_t wanted_gradients(const RegisteredOp& op,
                          const std::vector<at::Tensor>& inputs) {
  if (!at::GradMode::is_enabled()) return 0;
  uint64_t want = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (op.differentiable >> i & 1 && inputs[i].defined() &&
        inputs[i].requires_grad())
      want |= uint64_t{1} << i;
  return want;
}

void redispatch(const c10::OperatorHandle& op,
                c10::DispatchKeySet keys,
                torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
}

void bump_versions(const RegisteredOp& op,
                   const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (op.spec.inputs[i].is_mutated && inputs[i].defined() &&
        !inputs[i].is_inference())
      torch::autograd::impl::bump_version(inputs[i]);
}

}  // namespace

void autograd_forward(const c10::OperatorHandle& handle,
                      c10::DispatchKeySet keys,
                      torch::jit::Stack* stack) {
  const Binding& binding = find_binding((*stack)[0].toInt());
  const CallSite& site = *binding.call_site;
  const RegisteredOp& op = site.registered;
  std::vector<at::Tensor> inputs;
  inputs.reserve(op.spec.inputs.size());
  for (size_t i = 0; i < op.spec.inputs.size(); ++i) {
    const c10::IValue& value = (*stack)[2 + i];
    inputs.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
  }
  const uint64_t want = wanted_gradients(op, inputs);
  if (want == 0) {
    redispatch(handle, keys, stack);
    if (op.has_mutation) bump_versions(op, inputs);
    return;
  }
  TITAN_USER_CHECK(!op.has_mutation,
                   site.where(),
                   " writes its inputs: expected no gradient recording");
  (*stack)[1] = static_cast<int64_t>(want);
  auto node = make_node<OpNode>(binding.shared_from_this());
  torch::autograd::edge_list edges;
  edges.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    edges.push_back(want >> i & 1
                        ? torch::autograd::impl::gradient_edge(inputs[i])
                        : torch::autograd::Edge());
  node->set_next_edges(std::move(edges));
  redispatch(handle, keys, stack);
  std::vector<at::Tensor> saved(op.spec.saved.size());
  size_t own = op.spec.outputs.size();
  for (size_t i = 0; i < op.spec.outputs.size(); ++i) {
    at::Tensor output = (*stack)[i].toTensor();
    if (!op.spec.outputs[i].is_differentiable) {
      // Keeps its place among the node's outputs, records nothing.
      node->add_input_metadata(torch::autograd::Node::undefined_input());
      continue;
    }
    torch::autograd::set_history(output, node);
  }
  for (size_t i = 0; i < saved.size(); ++i) {
    const int64_t output = op.saved_outputs[i];
    const size_t position = output >= 0 ? static_cast<size_t>(output) : own++;
    if ((*stack)[position].isTensor()) saved[i] = (*stack)[position].toTensor();
  }
  node->save(inputs, saved);
}

}  // namespace titan::op

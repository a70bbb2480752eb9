// SPDX-License-Identifier: BSD-3-Clause
// The dispatcher ops of the catalogue: titan::name and titan::name_backward,
// made from the spec. They are what modes on DispatchKey::Fake see and what a
// captured graph replays. CompositeExplicitAutograd, not CompositeImplicit:
// with the latter an op runs at the Autograd key and no mode ever sees it.
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/ATen.h>
#include <torch/library.h>

#include <titan/error.h>

#include "core/op/registered_op.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

std::string tensor_type(const InputSpec& input, size_t index) {
  if (input.is_mutated)
    return text("Tensor(", static_cast<char>('a' + index), "!)");
  return input.is_optional ? "Tensor?" : "Tensor";
}

std::string returns(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += i == 0 ? "Tensor" : ", Tensor";
  return text('(', out, ')');
}

std::string forward_schema(const RegisteredOp& op) {
  std::string out = text(op.spec.name(), "(int call, int want");
  for (size_t i = 0; i < op.spec.inputs.size(); ++i) {
    const InputSpec& input = op.spec.inputs[i];
    out += text(", ", tensor_type(input, i), ' ', input.name);
  }
  return out + ") -> " + returns(op.spec.outputs.size() + op.num_own_saved);
}

std::string backward_schema(const RegisteredOp& op) {
  std::string out = text(op.spec.name(), "_backward(int call, int want");
  for (const OutputSpec& output : op.spec.outputs)
    out += text(", Tensor? grad_", output.name);
  for (const InputSpec& input : op.spec.inputs)
    out += text(", Tensor? ", input.name);
  for (const std::string& saved : op.spec.saved)
    out += text(", Tensor? saved_", saved);
  size_t num_grads = 0;
  for (const InputSpec& input : op.spec.inputs)
    num_grads += input.is_differentiable ? 1 : 0;
  return out + ") -> " + returns(num_grads);
}

at::Tensor tensor_at(const torch::jit::Stack& stack, size_t index) {
  const c10::IValue& value = stack[index];
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

std::vector<at::Tensor> tensors_at(const torch::jit::Stack& stack,
                                   size_t first,
                                   size_t count) {
  std::vector<at::Tensor> out;
  out.reserve(count);
  for (size_t i = first; i < first + count; ++i)
    out.push_back(tensor_at(stack, i));
  return out;
}

bool is_meta(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined()) return tensor.is_meta();
  return false;
}

at::Tensor make_empty(const TensorMeta& meta) {
  if (!meta.is_defined) return at::Tensor();
  return at::empty(meta.sizes,
                   at::TensorOptions().dtype(meta.dtype).device(meta.device));
}

/// On the meta device there is nothing to compute: the shape function answers.
ForwardResult meta_forward(const CallSite& site,
                           const std::vector<at::Tensor>& inputs,
                           uint64_t want) {
  const Shapes shapes = site.spec.shape(site.attributes, metas_of(inputs));
  ForwardResult result;
  for (const TensorMeta& meta : shapes.outputs)
    result.outputs.push_back(make_empty(meta));
  for (const TensorMeta& meta : shapes.saved)
    result.saved.push_back(want != 0 ? make_empty(meta) : at::Tensor());
  return result;
}

std::vector<at::Tensor> meta_backward(
    const CallSite& site,
    const std::vector<at::Tensor>& inputs,
    const std::vector<at::Tensor>& grad_outputs,
    uint64_t want) {
  std::vector<at::Tensor> grads;
  for (const TensorMeta& meta : infer_grad_shapes(site.spec,
                                                  site.attributes,
                                                  metas_of(grad_outputs),
                                                  metas_of(inputs),
                                                  want))
    grads.push_back(make_empty(meta));
  return grads;
}

void run_forward(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const RegisteredOp* op = nullptr;
  ForwardResult result;
  size_t num_arguments = 0;
  {
    const size_t any = stack->size();
    TITAN_CHECK(any >= 2, "[op] forward needs its call and want arguments");
    // Arguments lie at the end of the stack: find the op by the shortest route,
    // the binding id, whose position depends on the op itself.
    const Binding& binding = find_binding((*stack)[0].toInt());
    op = &binding.call_site->registered;
    num_arguments = 2 + op->spec.inputs.size();
    TITAN_CHECK_EQ(any, num_arguments, "[op] arguments on the stack");
    const auto inputs = tensors_at(*stack, 2, op->spec.inputs.size());
    const auto want = static_cast<uint64_t>((*stack)[1].toInt());
    result = is_meta(inputs)
                 ? meta_forward(*binding.call_site, inputs, want)
                 : binding.kernel().forward(
                       {binding.call_site->attributes, inputs, want, 0});
  }
  stack->clear();
  for (at::Tensor& output : result.outputs)
    stack->emplace_back(std::move(output));
  for (size_t i = 0; i < op->saved_outputs.size(); ++i) {
    if (op->saved_outputs[i] >= 0) continue;
    stack->emplace_back(i < result.saved.size() ? std::move(result.saved[i])
                                                : at::Tensor());
  }
}

void run_backward(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const Binding& binding = find_binding((*stack)[0].toInt());
  const CallSite& site = *binding.call_site;
  const RegisteredOp& op = site.registered;
  const auto want = static_cast<uint64_t>((*stack)[1].toInt());
  std::vector<at::Tensor> grads;
  {
    size_t at = 2;
    const auto take = [&stack, &at](size_t count) {
      at += count;
      return tensors_at(*stack, at - count, count);
    };
    const auto grad_outputs = take(op.spec.outputs.size());
    const auto inputs = take(op.spec.inputs.size());
    const auto saved = take(op.spec.saved.size());
    if (is_meta(grad_outputs)) {
      grads = meta_backward(site, inputs, grad_outputs, want);
    } else {
      grads = binding.kernel().backward(
          {site.attributes, inputs, saved, grad_outputs, want, 0});
    }
  }
  stack->clear();
  for (size_t i = 0; i < op.spec.inputs.size(); ++i)
    if (op.differentiable >> i & 1) stack->emplace_back(std::move(grads[i]));
}

c10::OperatorHandle find_handle(const std::string& name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      ("titan::" + name).c_str(), "");
}

// Never destroyed: deregistration at exit would race with late nodes.
// Reachable, so that leak checkers know it is meant.
torch::Library& new_library() {
  static std::mutex mutex;
  static auto& libraries = *new std::vector<std::unique_ptr<torch::Library>>();
  const std::lock_guard lock(mutex);
  libraries.push_back(std::make_unique<torch::Library>(
      torch::Library::FRAGMENT, "titan", std::nullopt, __FILE__, __LINE__));
  return *libraries.back();
}

}  // namespace

void register_with_dispatcher(RegisteredOp& op) {
  torch::Library& library = new_library();
  const std::string name = op.spec.name();
  const std::string backward_name = name + "_backward";
  const auto forward_text = forward_schema(op);
  const auto backward_text = backward_schema(op);
  library.def(forward_text.c_str());
  library.def(backward_text.c_str());
  const auto all_backends = c10::DispatchKey::CompositeExplicitAutograd;
  library.impl(name.c_str(),
               torch::dispatch(
                   all_backends,
                   torch::CppFunction::makeFromBoxedFunction<&run_forward>()));
  library.impl(backward_name.c_str(),
               torch::dispatch(
                   all_backends,
                   torch::CppFunction::makeFromBoxedFunction<&run_backward>()));
  library.impl(
      name.c_str(),
      torch::dispatch(
          c10::DispatchKey::Autograd,
          torch::CppFunction::makeFromBoxedFunction<&autograd_forward>()));
  op.forward = find_handle(name);
  op.backward = find_handle(backward_name);
}

std::vector<at::Tensor> call_backward(const Binding& binding,
                                      const BackwardCall& call) {
  const RegisteredOp& op = binding.call_site->registered;
  torch::jit::Stack stack;
  stack.reserve(2 + call.grad_outputs.size() + call.inputs.size() +
                call.saved.size());
  stack.emplace_back(binding.id);
  stack.emplace_back(static_cast<int64_t>(call.want));
  for (const auto& tensors : {call.grad_outputs, call.inputs, call.saved}) {
    for (const at::Tensor& tensor : tensors) {
      if (tensor.defined()) {
        stack.emplace_back(tensor);
      } else {
        stack.emplace_back();
      }
    }
  }
  const CurrentBinding current(binding);
  op.backward->callBoxed(stack);
  std::vector<at::Tensor> grads(call.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < grads.size(); ++i)
    if (op.differentiable >> i & 1)
      grads[i] = std::move(stack[next++]).toTensor();
  return grads;
}

}  // namespace titan::op

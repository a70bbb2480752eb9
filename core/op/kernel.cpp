// SPDX-License-Identifier: BSD-3-Clause
// Kernels behind one interface: a plugin's C table, and the spec's reference.
#include "core/op/kernel.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/registered_op.h"
#include "core/op/tensor_api.h"

namespace titan::op {
namespace {

using plugin::view;

titan_stream stream_of(const at::Device& device) {
  titan_stream stream{};
  stream.struct_size = sizeof(stream);
  stream.device_type = static_cast<int32_t>(device.type());
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): -1 is no index.
  stream.device_index = device.index();
  if (!device.is_cpu()) {
    const c10::impl::VirtualGuardImpl guard(device.type());
    stream.native = guard.getStreamNativeHandle(guard.getStream(device));
  }
  return stream;
}

at::Device lead_device(c10::ArrayRef<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined()) return tensor.device();
  return at::kCPU;
}

at::Tensor allocate(const TensorMeta& meta) {
  return at::empty(meta.sizes,
                   at::TensorOptions().dtype(meta.dtype).device(meta.device));
}

std::vector<titan_tensor> lend_all(c10::ArrayRef<at::Tensor> tensors) {
  std::vector<titan_tensor> out;
  out.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) out.push_back(lend(tensor));
  return out;
}

class PluginKernel : public Kernel {
 public:
  PluginKernel(std::string id,
               KernelMatch match,
               const RegisteredOp& op,
               const titan_kernel_table* table,
               std::shared_ptr<const void> keepalive)
      : Kernel(std::move(id), std::move(match)),
        op_(op),
        table_(table),
        keepalive_(std::move(keepalive)) {}

  ~PluginKernel() override {
    if (object_ && table_->destroy) table_->destroy(object_);
  }

  void create(const titan_host_api* host, const titan_config* config) {
    if (!table_->create) return;
    titan_error error = plugin::make_error();
    const int32_t code = table_->create(host, config, &object_, &error);
    plugin::check_call(code, error, where("create"));
  }

  int32_t score(const std::vector<TensorMeta>& inputs,
                const Attributes& attributes,
                std::string* reason) const override;
  ForwardResult forward(const ForwardCall& call) const override;
  std::vector<at::Tensor> backward(const BackwardCall& call) const override;

 private:
  std::string where(const char* function) const {
    return text("kernel ", id(), " for ", op_.spec.id, ", ", function);
  }
  /// Inputs as the kernel wants them: contiguous if it says so.
  std::vector<at::Tensor> arrange(c10::ArrayRef<at::Tensor> inputs) const;

  const RegisteredOp& op_;
  const titan_kernel_table* table_;
  titan_object* object_ = nullptr;
  // Last member of this class to be used: the library that `destroy` is in.
  std::shared_ptr<const void> keepalive_;
};

void append_piece(void* self, titan_str piece) {
  static_cast<std::string*>(self)->append(piece.data, piece.size);
}

int32_t PluginKernel::score(const std::vector<TensorMeta>& inputs,
                            const Attributes& attributes,
                            std::string* reason) const {
  if (!table_->score) return 1;
  std::vector<titan_tensor_spec> specs(inputs.size());
  std::vector<const titan_tensor_spec*> pointers(inputs.size());
  // `arrange` gives a kernel that asks for it contiguous inputs in any case.
  const bool arranges = (match().flags & TITAN_KERNEL_NEEDS_CONTIGUOUS) != 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorMeta& meta = inputs[i];
    const std::string& name = op_.spec.inputs[i].name;
    specs[i] = {sizeof(titan_tensor_spec),
                static_cast<int32_t>(meta.dtype),
                meta.sizes.data(),
                static_cast<uint32_t>(meta.sizes.size()),
                arranges || meta.is_contiguous ? TITAN_TENSOR_CONTIGUOUS : 0u,
                {name.data(), name.size()},
                static_cast<int32_t>(meta.device.type()),
                meta.device.index()};
    pointers[i] = meta.is_defined ? &specs[i] : nullptr;
  }
  const auto abi_attributes = attributes.to_abi();
  const titan_text_sink sink = {sizeof(sink), 0, reason, append_piece};
  return table_->score(object_,
                       pointers.data(),
                       static_cast<uint32_t>(pointers.size()),
                       abi_attributes.data(),
                       abi_attributes.size(),
                       reason ? &sink : nullptr);
}

std::vector<at::Tensor> PluginKernel::arrange(
    c10::ArrayRef<at::Tensor> inputs) const {
  std::vector<at::Tensor> out(inputs.begin(), inputs.end());
  if (match().flags & TITAN_KERNEL_NEEDS_CONTIGUOUS) {
    for (at::Tensor& tensor : out)
      if (tensor.defined()) tensor = tensor.contiguous();
  }
  return out;
}

ForwardResult PluginKernel::forward(const ForwardCall& call) const {
  const Shapes shapes = op_.spec.shape(call.attributes, metas_of(call.inputs));
  ForwardResult result;
  for (const TensorMeta& meta : shapes.outputs)
    result.outputs.push_back(allocate(meta));
  for (size_t i = 0; i < shapes.saved.size(); ++i) {
    const int64_t output = op_.saved_outputs[i];
    at::Tensor tensor;
    if (output >= 0) {
      tensor = result.outputs[output];
    } else if (call.want != 0 && shapes.saved[i].is_defined) {
      tensor = allocate(shapes.saved[i]);
    }
    result.saved.push_back(std::move(tensor));
  }
  const auto inputs = arrange(call.inputs);
  const auto in = lend_all(inputs);
  const auto out = lend_all(result.outputs);
  const auto saved = lend_all(result.saved);
  const auto attributes = call.attributes.to_abi();
  const titan_stream stream = stream_of(lead_device(inputs));
  titan_call abi{};
  abi.struct_size = sizeof(abi);
  abi.num_in = static_cast<uint32_t>(in.size());
  abi.num_out = static_cast<uint32_t>(out.size());
  abi.num_saved = static_cast<uint32_t>(saved.size());
  abi.want = call.want;
  abi.in = in.data();
  abi.out = out.data();
  abi.saved = saved.data();
  abi.stream = &stream;
  abi.attributes = attributes.data();
  abi.num_attributes = attributes.size();
  abi.seed = call.seed;
  titan_error error = plugin::make_error();
  const int32_t code = table_->forward(object_, &abi, &error);
  plugin::check_call(code, error, where("forward"));
  return result;
}

std::vector<at::Tensor> PluginKernel::backward(const BackwardCall& call) const {
  std::vector<at::Tensor> grads;
  for (const TensorMeta& meta : infer_grad_shapes(op_.spec,
                                                  call.attributes,
                                                  metas_of(call.grad_outputs),
                                                  metas_of(call.inputs),
                                                  call.want))
    grads.push_back(meta.is_defined ? allocate(meta) : at::Tensor());
  const auto inputs = arrange(call.inputs);
  const auto grad_outputs = arrange(call.grad_outputs);
  const auto in = lend_all(inputs);
  const auto out = lend_all(grads);
  const auto saved = lend_all(call.saved);
  const auto grad_out = lend_all(grad_outputs);
  const auto attributes = call.attributes.to_abi();
  const titan_stream stream = stream_of(lead_device(grad_outputs));
  titan_call abi{};
  abi.struct_size = sizeof(abi);
  abi.num_in = static_cast<uint32_t>(in.size());
  abi.num_out = static_cast<uint32_t>(out.size());
  abi.num_saved = static_cast<uint32_t>(saved.size());
  abi.num_grad_out = static_cast<uint32_t>(grad_out.size());
  abi.want = call.want;
  abi.in = in.data();
  abi.out = out.data();
  abi.saved = saved.data();
  abi.grad_out = grad_out.data();
  abi.stream = &stream;
  abi.attributes = attributes.data();
  abi.num_attributes = attributes.size();
  abi.seed = call.seed;
  titan_error error = plugin::make_error();
  const int32_t code = table_->backward(object_, &abi, &error);
  plugin::check_call(code, error, where("backward"));
  return grads;
}

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(const OpSpec& spec)
      : Kernel(std::string(kReferenceKernel), match_of(spec)), spec_(spec) {}

  int32_t score(const std::vector<TensorMeta>&,
                const Attributes&,
                std::string*) const override {
    return 1;
  }
  ForwardResult forward(const ForwardCall& call) const override {
    return spec_.forward(call);
  }
  std::vector<at::Tensor> backward(const BackwardCall& call) const override {
    return spec_.backward ? spec_.backward(call) : reference_vjp(spec_, call);
  }

 private:
  static KernelMatch match_of(const OpSpec& spec) {
    KernelMatch match;
    match.op_id = spec.id;
    match.flags = TITAN_KERNEL_DETERMINISTIC | TITAN_KERNEL_HAS_BACKWARD;
    return match;
  }

  const OpSpec& spec_;
};

KernelMatch copy_match(const titan_kernel_match& match) {
  KernelMatch out;
  out.op_id = view(match.op_id);
  out.device_type = match.device_type;
  out.arch_min = match.arch_min;
  out.arch_max = match.arch_max;
  out.cpu_features = match.cpu_features;
  out.dtype_mask = match.dtype_mask;
  out.priority = match.priority;
  out.flags = match.flags;
  return out;
}

}  // namespace

std::shared_ptr<const Kernel> reference_kernel(const OpSpec& spec) {
  return std::make_shared<ReferenceKernel>(spec);
}

void KernelRegistry::add_plugin_kernel(std::string component_id,
                                       const titan_kernel_table* table,
                                       const titan_host_api* host,
                                       const titan_config* config,
                                       std::shared_ptr<const void> keepalive) {
  TITAN_USER_CHECK(table && table->match && table->forward,
                   "[kernel ",
                   component_id,
                   "] has an incomplete table: expected match and forward");
  KernelMatch match = copy_match(*table->match);
  const RegisteredOp& op = registered(find_op(match.op_id));
  TITAN_USER_CHECK(
      table->backward || !(match.flags & TITAN_KERNEL_HAS_BACKWARD),
      "[kernel ",
      component_id,
      "] says TITAN_KERNEL_HAS_BACKWARD: expected a backward, got null");
  auto kernel = std::make_shared<PluginKernel>(std::move(component_id),
                                               std::move(match),
                                               op,
                                               table,
                                               std::move(keepalive));
  kernel->create(host, config);
  add(std::move(kernel));
}

void KernelRegistry::add(std::shared_ptr<const Kernel> kernel) {
  for (const auto& known : kernels_) {
    TITAN_USER_CHECK(known->id() != kernel->id() ||
                         known->match().op_id != kernel->match().op_id,
                     "[kernel ",
                     kernel->id(),
                     "] is registered twice for ",
                     kernel->match().op_id,
                     ": expected one");
  }
  kernels_.push_back(std::move(kernel));
}

std::vector<std::shared_ptr<const Kernel>> KernelRegistry::kernels_of(
    std::string_view op_id) const {
  std::vector<std::shared_ptr<const Kernel>> out;
  for (const auto& kernel : kernels_)
    if (kernel->match().op_id == op_id) out.push_back(kernel);
  return out;
}

}  // namespace titan::op

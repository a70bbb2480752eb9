// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/context.h"

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/observe/spans.h"
#include "core/op/slot.h"
#include "core/op/tensor_api.h"
#include "core/plugin/abi_call.h"

namespace titan::module {

at::Tensor BatchTensors::find(std::string_view name) const {
  if (name == "tokens") return tokens;
  if (name == "labels") return labels;
  if (name == "loss_weight") return loss_weight;
  if (name == "doc_id") return doc_id;
  if (name == "cu_seqlens") return cu_seqlens;
  if (name == "positions") return positions;
  if (name == "global_index") return global_index;
  const auto found = extras.find(std::string(name));
  return found == extras.end() ? at::Tensor() : found->second;
}

const BatchTensors& Context::batch() const {
  TITAN_CHECK(batch_ != nullptr, "[context] batch: asked for before it is set");
  return *batch_;
}

BufferSource& Context::buffers() const {
  TITAN_CHECK(buffers_ != nullptr, "[context] buffer: nobody holds buffers");
  return *buffers_;
}

std::vector<at::Tensor> Context::call(Module& module,
                                      std::vector<at::Tensor> in,
                                      size_t num_out) {
  if (module.is_leaf()) return invoke(*module.leaf_site, std::move(in));
  if (transitions_ != nullptr) transitions_->before(module, in);
  TITAN_USER_CHECK(module.code != nullptr,
                   "[model ",
                   module.fqn,
                   "] call: expected a module with code, got a container");
  std::vector<at::Tensor> out =
      run_code(*module.code, module.self, module.fqn, in, num_out);
  if (transitions_ != nullptr) transitions_->after(module, out);
  return out;
}

// A model may call a leaf or its site: the leaf's transitions are here, so that
// both ways meet them.
std::vector<at::Tensor> Context::invoke(Site& site,
                                        std::vector<at::Tensor> in) {
  const Span span(site.span_name);
  Transitions* transitions = site.leaf != nullptr ? transitions_ : nullptr;
  if (transitions != nullptr) transitions->before(*site.leaf, in);
  const Adapter* adapter =
      site.leaf != nullptr ? site.leaf->adapter.get() : nullptr;
  std::vector<at::Tensor> adapted;
  if (adapter != nullptr) adapted = in;
  std::vector<at::Tensor> out;
  const bool is_done =
      transitions != nullptr && transitions->run_leaf(*site.leaf, in, out);
  if (!is_done) {
    if (site.leaf != nullptr)
      for (const Parameter* parameter : site.leaf->parameters)
        in.push_back(parameters_.compute(*parameter));
    if (cache_ != nullptr) cache_->extend(site, in);
    out = op::invoke(site.slot, in);
    if (cache_ != nullptr) cache_->keep(site, out);
  }
  if (observer_ && !out.empty()) observer_(site.span_name, out.front());
  if (transitions != nullptr) transitions->after(*site.leaf, out);
  if (adapter == nullptr) return out;
  adapted.insert(adapted.end(), out.begin(), out.end());
  return run_code(
      adapter->code, adapter->self, site.leaf->fqn, adapted, out.size());
}

std::vector<at::Tensor> Context::run_code(const titan_module_class& code,
                                          void* self,
                                          const std::string& fqn,
                                          const std::vector<at::Tensor>& in,
                                          size_t num_out) {
  std::vector<titan_tensor> handles;
  handles.reserve(in.size());
  for (const at::Tensor& tensor : in) handles.push_back(op::lend(tensor));
  std::vector<titan_tensor> results(num_out, nullptr);
  titan_error error = plugin::make_error();
  const int32_t status = code.forward(self,
                                      as_abi(),
                                      handles.data(),
                                      static_cast<uint32_t>(handles.size()),
                                      results.data(),
                                      static_cast<uint32_t>(num_out),
                                      &error);
  std::vector<at::Tensor> out;
  for (titan_tensor handle : results) {
    if (handle == nullptr) break;
    out.push_back(op::borrow(handle));
    op::tensor_api().release(handle);
  }
  plugin::check_call(status, error, fqn);
  return out;
}

// ---- the ABI table ----

namespace {

using plugin::guard_call;
using plugin::view;

Context& context_of(titan_context* context) {
  return *reinterpret_cast<Context*>(context);
}

std::vector<at::Tensor> tensors_of(const titan_tensor* in, uint32_t count) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    tensors.push_back(op::tensor_or_undefined(in[i]));
  return tensors;
}

void give(std::vector<at::Tensor> from, titan_tensor* out, uint32_t capacity) {
  TITAN_USER_CHECK(from.size() <= capacity,
                   "[context] outputs: expected room for ",
                   from.size(),
                   ", got ",
                   capacity);
  for (size_t i = 0; i < from.size(); ++i) out[i] = op::new_handle(from[i]);
}

int32_t mode(titan_context* context) {
  return context_of(context).mode();
}

int32_t batch(titan_context* context,
              titan_str name,
              titan_tensor* out,
              titan_error* error) {
  return guard_call(error, [&] {
    const at::Tensor found = context_of(context).batch().find(view(name));
    TITAN_USER_CHECK(found.defined(),
                     "[context] batch field: expected one of "
                     "tokens, labels, loss_weight, doc_id, cu_seqlens, "
                     "positions, global_index or a named extra, got '",
                     view(name),
                     "'");
    *out = op::new_handle(found);
  });
}

int32_t has_batch(titan_context* context, titan_str name) {
  return context_of(context).batch().find(view(name)).defined() ? 1 : 0;
}

int32_t side_input(titan_context* context,
                   titan_str name,
                   titan_tensor* out,
                   titan_error* error) {
  return guard_call(error, [&] {
    const auto& sides = context_of(context).side_inputs();
    const auto found = sides.find(std::string(view(name)));
    TITAN_USER_CHECK(found != sides.end(),
                     "[context] side input '",
                     view(name),
                     "': expected the item to declare it, got no such name");
    *out = op::new_handle(found->second);
  });
}

int32_t call(titan_context* context,
             titan_module* module,
             const titan_tensor* in,
             uint32_t num_in,
             titan_tensor* out,
             uint32_t num_out,
             titan_error* error) {
  return guard_call(error, [&] {
    give(context_of(context).call(*reinterpret_cast<Module*>(module),
                                  tensors_of(in, num_in),
                                  num_out),
         out,
         num_out);
  });
}

int32_t parameter(titan_context* context,
                  titan_parameter* parameter,
                  titan_tensor* out,
                  titan_error* error) {
  return guard_call(error, [&] {
    *out = op::new_handle(context_of(context).parameter(
        *reinterpret_cast<Parameter*>(parameter)));
  });
}

int32_t buffer(titan_context* context,
               titan_buffer* buffer,
               titan_tensor* out,
               titan_error* error) {
  return guard_call(error, [&] {
    *out = op::new_handle(context_of(context).buffers().value(
        *reinterpret_cast<const Buffer*>(buffer)));
  });
}

int32_t accumulate(titan_context* context,
                   titan_buffer* buffer,
                   titan_tensor value,
                   titan_error* error) {
  return guard_call(error, [&] {
    const Context& of = context_of(context);
    if (of.mode() != TITAN_MODE_TRAIN || of.is_recompute()) return;
    of.buffers().accumulate(*reinterpret_cast<const Buffer*>(buffer),
                            op::borrow(value));
  });
}

int32_t add_loss(titan_context* context,
                 titan_str name,
                 titan_tensor sum,
                 titan_str normaliser,
                 titan_error* error) {
  return guard_call(error, [&] {
    context_of(context).added_losses().push_back(
        {std::string(view(name)),
         op::borrow(sum),
         std::string(view(normaliser))});
  });
}

int32_t add_metric(titan_context* context,
                   titan_str name,
                   titan_tensor value,
                   titan_error* error) {
  return guard_call(error, [&] {
    if (!context_of(context).is_recompute())
      context_of(context).metrics()[std::string(view(name))] =
          op::borrow(value).detach();
  });
}

int32_t set_buffer(titan_context* context,
                   titan_buffer* buffer,
                   titan_tensor value,
                   titan_error* error) {
  return guard_call(error, [&] {
    const auto& set = *reinterpret_cast<const Buffer*>(buffer);
    TITAN_USER_CHECK(context_of(context).is_after_step(),
                     "[model ",
                     set.fqn,
                     "] set: expected a call from after_step, got one while a "
                     "step runs. Use accumulate.");
    context_of(context).buffers().set(set, op::borrow(value));
  });
}

}  // namespace

int32_t invoke_site(titan_context* context,
                    titan_slot* slot,
                    const titan_tensor* in,
                    uint32_t num_in,
                    titan_tensor* out,
                    uint32_t num_out,
                    titan_error* error) {
  return guard_call(error, [&] {
    give(context_of(context).invoke(*reinterpret_cast<Site*>(slot),
                                    tensors_of(in, num_in)),
         out,
         num_out);
  });
}

const titan_context_api& context_api() {
  static const titan_context_api api = {
      .struct_size = sizeof(titan_context_api),
      .reserved = 0,
      .mode = mode,
      .batch = batch,
      .has_batch = has_batch,
      .side_input = side_input,
      .call = call,
      .parameter = parameter,
      .buffer = buffer,
      .accumulate = accumulate,
      .add_loss = add_loss,
      .add_metric = add_metric,
      .set_buffer = set_buffer,
  };
  return api;
}

}  // namespace titan::module

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/core/op/fake_kernel.h"

#include <cstdio>

#include <ATen/ATen.h>

#include "core/op/tensor_api.h"

namespace titan::op::test {
namespace {

constexpr char kOpId[] = "titan.swiglu/1";

titan_kernel_match match_with(uint32_t flags) {
  titan_kernel_match match{};
  match.struct_size = sizeof(match);
  match.device_type = TITAN_DEVICE_CPU;
  match.dtype_mask = 1u << TITAN_DTYPE_F32 | 1u << TITAN_DTYPE_F64;
  match.priority = 500;
  match.flags = flags;
  match.op_id = {kOpId, sizeof(kOpId) - 1};
  return match;
}

int32_t create(const titan_host_api*,
               const titan_config*,
               titan_object** out,
               titan_error*) {
  *out = reinterpret_cast<titan_object*>(&fake_kernel_counts());
  return 0;
}

void destroy(titan_object*) {
  ++fake_kernel_counts().destroyed;
}

int32_t score(const titan_object*,
              const titan_tensor_spec* const* in,
              uint32_t,
              const titan_attribute*,
              uint64_t,
              const titan_text_sink* reason) {
  if (in[0]->dims[in[0]->num_dims - 1] != 5) return 100;
  static constexpr char kWhy[] = "rows of 5 do not fill a vector";
  if (reason) reason->write(reason->self, {kWhy, sizeof(kWhy) - 1});
  return 0;
}

int32_t low_score(const titan_object*,
                  const titan_tensor_spec* const*,
                  uint32_t,
                  const titan_attribute*,
                  uint64_t,
                  const titan_text_sink*) {
  return 50;
}

int32_t forward(const titan_object*,
                const titan_call* call,
                titan_error* error) {
  ++fake_kernel_counts().forward;
  const at::Tensor& gate = borrow(call->in[0]);
  if (gate.size(-1) == 3) {
    error->code = 601;
    std::snprintf(error->where, sizeof(error->where), "acme");
    std::snprintf(error->message, sizeof(error->message), "rows of 3 break it");
    return 601;
  }
  at::Tensor out = borrow(call->out[0]);
  out.copy_(at::silu(gate) * borrow(call->in[1]) * 10);
  return 0;
}

int32_t backward(const titan_object*, const titan_call* call, titan_error*) {
  ++fake_kernel_counts().backward;
  fake_kernel_counts().want = call->want;
  const at::Tensor grad = borrow(call->grad_out[0]) * 10;
  const at::Tensor& gate = borrow(call->in[0]);
  const at::Tensor& up = borrow(call->in[1]);
  if (call->want & 1)
    borrow(call->out[0]).copy_(at::silu_backward(grad * up, gate));
  if (call->want & 2) borrow(call->out[1]).copy_(at::silu(gate) * grad);
  return 0;
}

}  // namespace

FakeKernelCounts& fake_kernel_counts() {
  static FakeKernelCounts counts;
  return counts;
}

std::shared_ptr<KernelRegistry> make_registry() {
  fake_kernel_counts() = FakeKernelCounts();
  static const titan_kernel_match full = match_with(TITAN_KERNEL_HAS_BACKWARD);
  static const titan_kernel_match half = match_with(0);
  static const titan_kernel_table table = {
      sizeof(table), 0, &full, create, destroy, score, forward, backward};
  static const titan_kernel_table other = {
      sizeof(other), 0, &half, nullptr, nullptr, low_score, forward, nullptr};
  const std::shared_ptr<const void> library(
      &table, [](const void*) { ++fake_kernel_counts().unloaded; });
  auto registry = std::make_shared<KernelRegistry>();
  registry->add_plugin_kernel("acme.swiglu", &table, nullptr, nullptr, library);
  registry->add_plugin_kernel(
      "acme.swiglu_other", &other, nullptr, nullptr, nullptr);
  return registry;
}

}  // namespace titan::op::test

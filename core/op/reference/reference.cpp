// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/reference/reference.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <titan/error.h>

namespace titan::op::reference {

std::vector<OpSpec> first_party_ops() {
  std::vector<OpSpec> ops;
  ops.push_back(activation_spec());
  ops.push_back(adamw_spec());
  ops.push_back(attention_spec());
  ops.push_back(causal_conv1d_spec());
  ops.push_back(cross_entropy_spec());
  ops.push_back(embedding_spec());
  ops.push_back(fused_linear_cross_entropy_spec());
  ops.push_back(gated_delta_rule_spec());
  ops.push_back(grouped_linear_spec());
  ops.push_back(layer_norm_spec());
  ops.push_back(linear_spec());
  ops.push_back(moe_balance_loss_spec());
  ops.push_back(moe_combine_spec());
  ops.push_back(moe_dispatch_spec());
  ops.push_back(moe_router_spec());
  ops.push_back(rms_norm_spec());
  ops.push_back(rope_complex_spec());
  ops.push_back(rope_cos_sin_spec());
  ops.push_back(swiglu_spec());
  return ops;
}

void check_labels(const at::Tensor& labels, int64_t vocabulary) {
  if (!labels.device().is_cpu()) return;
  const at::Tensor flat = labels.to(at::kLong).contiguous();
  const int64_t* values = flat.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const int64_t label = values[i];
    TITAN_USER_CHECK(
        label == kIgnoredLabel || (label >= 0 && label < vocabulary),
        "[labels] value out of range: expected 0 to ",
        vocabulary - 1,
        " or ",
        kIgnoredLabel,
        ", got ",
        label,
        " at token ",
        i);
  }
}

std::vector<int64_t> document_bounds(const at::Tensor& cu_seqlens,
                                     int64_t num_tokens,
                                     std::string_view op) {
  if (!cu_seqlens.defined()) return {0, num_tokens};
  const at::Tensor on_cpu = cu_seqlens.cpu().contiguous();
  const int32_t* given = on_cpu.const_data_ptr<int32_t>();
  std::vector<int64_t> bounds(given, given + on_cpu.numel());
  TITAN_USER_CHECK(
      !bounds.empty() && bounds.front() == 0 && bounds.back() == num_tokens,
      '[',
      op,
      "] cu_seqlens: expected 0 to ",
      num_tokens,
      ", got ",
      bounds.empty() ? -1 : bounds.front(),
      " to ",
      bounds.empty() ? -1 : bounds.back());
  for (size_t i = 1; i < bounds.size(); ++i)
    TITAN_USER_CHECK(bounds[i - 1] <= bounds[i],
                     '[',
                     op,
                     "] cu_seqlens: expected ascending numbers, got ",
                     bounds[i - 1],
                     " before ",
                     bounds[i]);
  return bounds;
}

void expect_cu_seqlens(const TensorMeta& cu_seqlens) {
  if (!cu_seqlens.is_defined) return;
  expect_dtype(cu_seqlens, "cu_seqlens", at::kInt);
  expect_num_dims(cu_seqlens, "cu_seqlens", 1);
}

at::Tensor repeat_heads(const at::Tensor& x_BMJH, int64_t num_heads) {
  const int64_t group = num_heads / x_BMJH.size(1);
  if (group == 1) return x_BMJH;
  return x_BMJH.unsqueeze(2)
      .expand({-1, -1, group, -1, -1})
      .reshape({x_BMJH.size(0), num_heads, x_BMJH.size(2), x_BMJH.size(3)});
}

at::Tensor sum_heads(const at::Tensor& x_BNJH, int64_t num_shared_heads) {
  if (x_BNJH.size(1) == num_shared_heads) return x_BNJH;
  const auto acc = acc_type(x_BNJH.scalar_type());
  return x_BNJH
      .unflatten(1, {num_shared_heads, x_BNJH.size(1) / num_shared_heads})
      .sum(at::IntArrayRef{2}, false, acc)
      .to(x_BNJH.scalar_type());
}

void expect_dim(const TensorMeta& tensor,
                std::string_view name,
                int64_t dim,
                int64_t expected) {
  const int64_t size = dim < tensor.num_dims() ? tensor.sizes[dim] : -1;
  TITAN_USER_CHECK(size == expected,
                   name,
                   " size of dim ",
                   dim,
                   ": expected ",
                   expected,
                   ", got ",
                   size);
}

void expect_num_dims(const TensorMeta& tensor,
                     std::string_view name,
                     int64_t expected) {
  TITAN_USER_CHECK(tensor.num_dims() == expected,
                   name,
                   " number of dims: expected ",
                   expected,
                   ", got ",
                   tensor.num_dims());
}

void expect_dtype(const TensorMeta& tensor,
                  std::string_view name,
                  at::ScalarType expected) {
  TITAN_USER_CHECK(tensor.dtype == expected,
                   name,
                   " dtype: expected ",
                   dtype_name(expected),
                   ", got ",
                   dtype_name(tensor.dtype));
}

void expect_floating(const TensorMeta& tensor, std::string_view name) {
  TITAN_USER_CHECK(at::isFloatingType(tensor.dtype),
                   name,
                   " dtype: expected a floating type, got ",
                   dtype_name(tensor.dtype));
}

void expect_integer(const TensorMeta& tensor, std::string_view name) {
  TITAN_USER_CHECK(tensor.dtype == at::kInt || tensor.dtype == at::kLong,
                   name,
                   " dtype: expected i32 or i64, got ",
                   dtype_name(tensor.dtype));
}

at::Tensor random_normal(at::IntArrayRef sizes,
                         at::ScalarType dtype,
                         uint64_t seed) {
  const auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(sizes, generator, at::TensorOptions().dtype(at::kDouble))
      .to(dtype);
}

at::Tensor random_ids(at::IntArrayRef sizes, int64_t bound, uint64_t seed) {
  const auto generator = at::detail::createCPUGenerator(seed);
  return at::randint(
      bound, sizes, generator, at::TensorOptions().dtype(at::kLong));
}

std::map<at::ScalarType, Tolerance> rounding_tolerances(double slack,
                                                        std::string origin) {
  // 2^-53, 2^-24, 2^-11, 2^-8: unit roundoff of each type.
  return {{at::kDouble, {slack * 0x1p-53, slack * 0x1p-53, origin}},
          {at::kFloat, {slack * 0x1p-24, slack * 0x1p-24, origin}},
          {at::kHalf, {slack * 0x1p-11, slack * 0x1p-11, origin}},
          {at::kBFloat16, {slack * 0x1p-8, slack * 0x1p-8, origin}}};
}

}  // namespace titan::op::reference

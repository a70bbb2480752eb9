// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/reference/reference.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <titan/error.h>

namespace titan::op::reference {

std::vector<OpSpec> first_party_ops() {
  std::vector<OpSpec> ops;
  ops.push_back(adamw_spec());
  ops.push_back(attention_spec());
  ops.push_back(cross_entropy_spec());
  ops.push_back(embedding_spec());
  ops.push_back(fused_linear_cross_entropy_spec());
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

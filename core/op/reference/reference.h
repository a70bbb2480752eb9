// SPDX-License-Identifier: BSD-3-Clause
// The first-party ops, one file each, and what those files share.
#pragma once

#include <vector>

#include <titan/error.h>

#include "core/op/spec.h"

namespace titan::op::reference {

OpSpec activation_spec();
OpSpec adamw_spec();
OpSpec attention_spec();
OpSpec causal_conv1d_spec();
OpSpec cross_entropy_spec();
OpSpec embedding_spec();
OpSpec fused_linear_cross_entropy_spec();
OpSpec gated_delta_rule_spec();
OpSpec grouped_linear_spec();
OpSpec layer_norm_spec();
OpSpec linear_spec();
OpSpec moe_balance_loss_spec();
OpSpec moe_combine_spec();
OpSpec moe_dispatch_spec();
OpSpec moe_router_spec();
OpSpec rms_norm_spec();
OpSpec rope_complex_spec();
OpSpec rope_cos_sin_spec();
OpSpec swiglu_spec();

/// All of the above.
std::vector<OpSpec> first_party_ops();

/// A label of this value counts for nothing (PyTorch's ignore_index).
inline constexpr int64_t kIgnoredLabel = -100;

/// UserError unless every label is kIgnoredLabel or in [0, vocabulary). Reads
/// the labels, so on the CPU only; elsewhere the device asserts.
void check_labels(const at::Tensor& labels, int64_t vocabulary);

/// The bounds of packed documents: 0, ..., num_tokens, ascending; `cu_seqlens`
/// undefined: one document. UserError naming `op` otherwise. Reads the tensor.
std::vector<int64_t> document_bounds(const at::Tensor& cu_seqlens,
                                     int64_t num_tokens,
                                     std::string_view op);

/// Checks an optional "cu_seqlens": i32, one dim.
void expect_cu_seqlens(const TensorMeta& cu_seqlens);

/// Heads repeated for those that share them, [B, M, J, H] -> [B, N, J, H]; head
/// n uses head n / (N / M). A copy when they do.
at::Tensor repeat_heads(const at::Tensor& x_BMJH, int64_t num_heads);

/// Sum over the heads that share one, [B, N, J, H] -> [B, M, J, H]; in
/// acc(dtype), rounded once.
at::Tensor sum_heads(const at::Tensor& x_BNJH, int64_t num_shared_heads);

/// Throws UserError "what: expected ..., got ...": infer_shapes adds the op,
/// the FQN and all shapes.
void expect_dim(const TensorMeta& tensor,
                std::string_view name,
                int64_t dim,
                int64_t expected);
void expect_num_dims(const TensorMeta& tensor,
                     std::string_view name,
                     int64_t expected);
void expect_dtype(const TensorMeta& tensor,
                  std::string_view name,
                  at::ScalarType expected);
void expect_floating(const TensorMeta& tensor, std::string_view name);
void expect_integer(const TensorMeta& tensor, std::string_view name);

/// Standard normal, drawn in float64 from `seed` and rounded to `dtype`.
at::Tensor random_normal(at::IntArrayRef sizes,
                         at::ScalarType dtype,
                         uint64_t seed);
/// Uniform in [0, bound), int64.
at::Tensor random_ids(at::IntArrayRef sizes, int64_t bound, uint64_t seed);

/// Tolerances of an op whose error is one rounding of its result per element:
/// half an ulp relative, times `slack`.
std::map<at::ScalarType, Tolerance> rounding_tolerances(double slack,
                                                        std::string origin);

}  // namespace titan::op::reference

// SPDX-License-Identifier: BSD-3-Clause
// How far tensors are from a reference's, each against its limit: what
// docs/parity.md says under "What is compared".
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::train {

using Tensors = std::map<std::string, at::Tensor>;

struct TensorError {
  std::string name;         // "logits", "loss", "grad model.norm.weight", ...
  double max_absolute = 0;  // largest |a - b|
  /// |a - b| / max(|b|, floor) in 2-norms; floor 1e-6 of the global gradient
  /// norm, for logits of their own norm; for final weights |a - b| over the
  /// norm of the reference's whole update.
  double relative_norm = 0;
  double limit = 0;
  std::string problem;  // "missing in the reference"; empty = compared
  bool passes() const { return problem.empty() && relative_norm <= limit; }
};

/// Of the global gradient norm (of logits: of their own).
inline constexpr double kParityFloor = 1e-6;

double l2_norm(const at::Tensor& tensor);

TensorError compare(std::string name,
                    const at::Tensor& ours,
                    const at::Tensor& reference,
                    double floor,
                    double limit);

/// Every tensor of either side.
void compare_sets(const std::string& prefix,
                  const Tensors& ours,
                  const Tensors& reference,
                  double floor,
                  double limit,
                  std::vector<TensorError>& errors);

/// Final weights, judged by the size of the reference's update from `start`.
void compare_updates(const std::string& prefix,
                     const Tensors& ours,
                     const Tensors& reference,
                     const Tensors& start,
                     double limit,
                     std::vector<TensorError>& errors);

/// Raises each limit by what another float32 run, the reference's own, is away
/// from the same truth: who is within the limit of that run is within the sum.
/// Both lists compare the same tensors; what the other run lacks or cannot
/// compare is a problem here.
void allow_error_of(const std::vector<TensorError>& other,
                    std::vector<TensorError>& errors);

/// What failed or came nearest to failing first.
void sort_worst_first(std::vector<TensorError>& errors);

}  // namespace titan::train

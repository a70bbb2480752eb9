// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/parity_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ATen/ATen.h>

#include <titan/text.h>

namespace titan::train {
namespace {

constexpr double kZeroLimit = 1e-7;  // where the reference is exactly zero

// Used share of the limit.
double used_share(const TensorError& error) {
  if (!error.problem.empty()) return std::numeric_limits<double>::infinity();
  return error.limit > 0 ? error.relative_norm / error.limit
                         : error.relative_norm;
}

// `error_of(ours, reference, name)` for each pair; what has no pair is a
// problem.
void compare_pairs(const std::string& prefix,
                   const Tensors& ours,
                   const Tensors& reference,
                   double limit,
                   const std::function<TensorError(const at::Tensor&,
                                                   const at::Tensor&,
                                                   const std::string&)>& error,
                   std::vector<TensorError>& errors) {
  for (const auto& [name, tensor] : reference) {
    const auto found = ours.find(name);
    errors.push_back(
        found == ours.end()
            ? TensorError{prefix + name, 0, 0, limit, "missing here"}
            : error(found->second, tensor, name));
  }
  for (const auto& [name, tensor] : ours)
    if (reference.count(name) == 0)
      errors.push_back(
          {prefix + name, 0, 0, limit, "missing in the reference"});
}

}  // namespace

double l2_norm(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

TensorError compare(std::string name,
                    const at::Tensor& ours,
                    const at::Tensor& reference,
                    double floor,
                    double limit) {
  TensorError error;
  error.name = std::move(name);
  error.limit = limit;
  if (ours.sizes() != reference.sizes()) {
    error.problem =
        text("shape: expected ", reference.sizes(), ", got ", ours.sizes());
    return error;
  }
  const at::Tensor difference =
      ours.to(at::kDouble) - reference.to(at::kDouble);
  error.max_absolute =
      difference.numel() == 0 ? 0 : difference.abs().max().item<double>();
  const double size = l2_norm(reference);
  error.relative_norm = l2_norm(difference) / std::max(size, floor);
  // A zero tensor has no relative error: it must be zero to the last bits of
  // the global norm.
  if (size == 0.0) error.limit = kZeroLimit / kParityFloor;
  if (!std::isfinite(error.relative_norm) && l2_norm(difference) == 0.0)
    error.relative_norm = 0.0;
  return error;
}

void compare_sets(const std::string& prefix,
                  const Tensors& ours,
                  const Tensors& reference,
                  double floor,
                  double limit,
                  std::vector<TensorError>& errors) {
  compare_pairs(
      prefix,
      ours,
      reference,
      limit,
      [&](const at::Tensor& a, const at::Tensor& b, const std::string& name) {
        return compare(prefix + name, a, b, floor, limit);
      },
      errors);
}

void compare_updates(const std::string& prefix,
                     const Tensors& ours,
                     const Tensors& reference,
                     const Tensors& start,
                     double limit,
                     std::vector<TensorError>& errors) {
  compare_pairs(
      prefix,
      ours,
      reference,
      limit,
      [&](const at::Tensor& a, const at::Tensor& b, const std::string& name) {
        TensorError error = compare(prefix + name, a, b, 0, limit);
        const auto from = start.find(name);
        if (!error.problem.empty()) return error;
        const double update =
            from == start.end()
                ? 0.0
                : l2_norm(b.to(at::kDouble) - from->second.to(at::kDouble));
        const double difference =
            l2_norm(a.to(at::kDouble) - b.to(at::kDouble));
        error.relative_norm = update > 0 ? difference / update : difference;
        error.limit = limit;
        return error;
      },
      errors);
}

void allow_error_of(const std::vector<TensorError>& other,
                    std::vector<TensorError>& errors) {
  std::map<std::string, const TensorError*> by_name;
  for (const TensorError& error : other) by_name[error.name] = &error;
  for (TensorError& error : errors) {
    const auto found = by_name.find(error.name);
    if (found == by_name.end() || !found->second->problem.empty()) {
      if (error.problem.empty())
        error.problem = "missing in the reference's float32 run";
    } else if (std::isfinite(found->second->relative_norm)) {
      error.limit += found->second->relative_norm;
    }
  }
}

void sort_worst_first(std::vector<TensorError>& errors) {
  std::stable_sort(errors.begin(),
                   errors.end(),
                   [](const TensorError& a, const TensorError& b) {
                     return used_share(a) > used_share(b);
                   });
}

}  // namespace titan::train

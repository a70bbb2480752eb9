// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/stage_link.h"

#include <algorithm>

#include <ATen/ATen.h>

#include <titan/error.h>

namespace titan::parallel {
namespace {

using module::CarrySpec;

// Tags: (microbatch * kMaxTensors + tensor) * 2, + 1 for its sizes.
constexpr int64_t kMaxTensors = 256;

bool is_dynamic(const CarrySpec& spec) {
  return std::find(spec.dims.begin(), spec.dims.end(), TITAN_DIM_DYNAMIC) !=
         spec.dims.end();
}

std::vector<int64_t> declared_sizes(const CarrySpec& spec, int64_t num_tokens) {
  std::vector<int64_t> sizes = spec.dims;
  for (int64_t& extent : sizes)
    if (extent == TITAN_DIM_TOKENS) extent = num_tokens;
  return sizes;
}

void check_sizes(const CarrySpec& spec,
                 const at::Tensor& tensor,
                 int64_t num_tokens) {
  const std::vector<int64_t> sizes = declared_sizes(spec, num_tokens);
  bool is_same = sizes.size() == static_cast<size_t>(tensor.dim());
  for (size_t i = 0; is_same && i < sizes.size(); ++i)
    is_same = sizes[i] == TITAN_DIM_DYNAMIC ||
              sizes[i] == tensor.size(static_cast<int64_t>(i));
  TITAN_USER_CHECK(is_same,
                   "[model] carry '",
                   spec.name,
                   "': expected the declared shape ",
                   sizes,
                   " (-2: any), got ",
                   tensor.sizes());
}

}  // namespace

bool has_gradient(const CarrySpec& spec, const at::Tensor& value) {
  return spec.is_differentiable && value.defined() &&
         at::isFloatingType(value.scalar_type());
}

int64_t StageLink::tag(size_t index, bool is_sizes) const {
  TITAN_CHECK(static_cast<int64_t>(index) < kMaxTensors,
              "[pipeline] tensors between two stages: expected less than ",
              kMaxTensors);
  return (microbatch_ * kMaxTensors + static_cast<int64_t>(index)) * 2 +
         (is_sizes ? 1 : 0);
}

void StageLink::send(const std::vector<CarrySpec>& specs,
                     const std::vector<at::Tensor>& tensors,
                     int64_t num_tokens) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const at::Tensor tensor = tensors[i].detach();
    check_sizes(specs[i], tensor, num_tokens);
    if (is_dynamic(specs[i]))
      pp_.send(at::tensor(tensor.sizes()), peer_, tag(i, true));
    pp_.send(tensor, peer_, tag(i));
  }
}

std::vector<at::Tensor> StageLink::receive(const std::vector<CarrySpec>& specs,
                                           int64_t num_tokens,
                                           at::ScalarType compute) {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<int64_t> sizes = declared_sizes(specs[i], num_tokens);
    if (is_dynamic(specs[i])) {
      at::Tensor sent =
          at::empty({static_cast<int64_t>(sizes.size())}, at::kLong);
      pp_.receive(sent, peer_, tag(i, true));
      const auto* extents = sent.const_data_ptr<int64_t>();
      sizes.assign(extents, extents + sizes.size());
    }
    const auto dtype = specs[i].dtype == TITAN_DTYPE_COMPUTE
                           ? compute
                           : static_cast<at::ScalarType>(specs[i].dtype);
    tensors.push_back(at::empty(sizes, dtype));
    pp_.receive(tensors.back(), peer_, tag(i));
  }
  return tensors;
}

void StageLink::send_gradients(const std::vector<CarrySpec>& specs,
                               const std::vector<at::Tensor>& gradients,
                               const std::vector<at::Tensor>& values) {
  for (size_t i = 0; i < specs.size(); ++i)
    if (has_gradient(specs[i], values[i]))
      pp_.send(
          gradients[i].defined() ? gradients[i] : at::zeros_like(values[i]),
          peer_,
          tag(i));
}

std::vector<at::Tensor> StageLink::receive_gradients(
    const std::vector<CarrySpec>& specs,
    const std::vector<at::Tensor>& values) {
  std::vector<at::Tensor> gradients(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!has_gradient(specs[i], values[i])) continue;
    gradients[i] = at::empty_like(values[i]);
    pp_.receive(gradients[i], peer_, tag(i));
  }
  return gradients;
}

}  // namespace titan::parallel

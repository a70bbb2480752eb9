// SPDX-License-Identifier: BSD-3-Clause
// Descriptions used while building: how a parameter starts, how it may be cut,
// attributes of call sites, and shapes of tensors that do not exist yet.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/aten.hpp>

namespace titan {

/// How a parameter starts. Made by the functions of titan::init.
struct Init {
  int32_t kind = TITAN_INIT_ZEROS;
  double mean = 0;
  double std = 0;
  double low = 0;
  double high = 0;
};

namespace init {

constexpr Init zeros() {
  return {};
}
constexpr Init constant(double value) {
  return {.kind = TITAN_INIT_CONSTANT, .mean = value};
}
constexpr Init ones() {
  return constant(1);
}
constexpr Init normal(double std, double mean = 0) {
  return {.kind = TITAN_INIT_NORMAL, .mean = mean, .std = std};
}
/// Bounds are absolute, as in torch's trunc_normal_.
constexpr Init trunc_normal(double std, double low = -2, double high = 2) {
  return {
      .kind = TITAN_INIT_TRUNC_NORMAL, .std = std, .low = low, .high = high};
}
constexpr Init uniform(double low, double high) {
  return {.kind = TITAN_INIT_UNIFORM, .low = low, .high = high};
}
/// log of uniform [low, high).
constexpr Init log_uniform(double low, double high) {
  return {.kind = TITAN_INIT_LOG_UNIFORM, .low = low, .high = high};
}
/// Uniform with bound sqrt(6 / (fan_in + fan_out)).
inline Init xavier_uniform(int64_t fan_in, int64_t fan_out) {
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  return uniform(-bound, bound);
}

}  // namespace init

/// How a tensor-parallel planner may cut a parameter. `granule`: rows (column,
/// vocab) or input features (row) that stay together, such as a head.
struct Shard {
  int32_t kind = TITAN_SHARD_REPLICATE;
  int64_t granule = 1;
};

constexpr Shard replicate() {
  return {};
}
/// Cuts output features; the layer's output is then local.
constexpr Shard column(int64_t granule = 1) {
  return {TITAN_SHARD_COLUMN, granule};
}
/// Cuts input features; the layer's input is local and its output a partial
/// sum.
constexpr Shard row(int64_t granule = 1) {
  return {TITAN_SHARD_ROW, granule};
}
/// Cuts rows of the vocabulary.
constexpr Shard vocab(int64_t granule = 1) {
  return {TITAN_SHARD_VOCAB, granule};
}
/// Cuts dim 0 by experts.
constexpr Shard expert() {
  return {TITAN_SHARD_EXPERT, 1};
}

/// {"scale", 0.125}: a constant of a call site. Borrows a string value.
struct Attribute : titan_attribute {
  Attribute(std::string_view key, const Value& constant)
      : titan_attribute{detail::str(key), constant} {}
};
static_assert(sizeof(Attribute) == sizeof(titan_attribute));
using Attributes = std::initializer_list<Attribute>;

/// Extents that only a microbatch knows.
inline constexpr int64_t kTokens = TITAN_DIM_TOKENS;
inline constexpr int64_t kDynamic = TITAN_DIM_DYNAMIC;

/// A tensor that does not exist yet: part of a carry, a buffer, a state.
struct TensorSpec {
  std::vector<int64_t> sizes;
  std::string name = {};
  Dtype dtype = Dtype::kCompute;
  uint32_t flags = TITAN_TENSOR_DIFFERENTIABLE;

  /// Borrows `sizes` and `name`.
  titan_tensor_spec raw() const {
    titan_tensor_spec out{};
    out.struct_size = sizeof(out);
    out.dtype = static_cast<int32_t>(dtype);
    out.dims = sizes.data();
    out.num_dims = static_cast<uint32_t>(sizes.size());
    out.flags = flags;
    out.name = detail::str(name);
    return out;
  }
};

/// What an item passes on.
using Carry = std::vector<TensorSpec>;

/// The usual carry of a decoder: one residual [T, dim].
inline Carry residual(int64_t dim) {
  return {{{kTokens, dim}, "residual"}};
}

/// A spec received from the host.
class TensorSpecView {
 public:
  explicit TensorSpecView(const titan_tensor_spec* raw) : raw_(raw) {}
  std::span<const int64_t> sizes() const {
    return {raw_->dims, raw_->num_dims};
  }
  int64_t size(int64_t i) const {
    const auto dims = static_cast<int64_t>(raw_->num_dims);
    TITAN_CHECK(-dims <= i && i < dims, "[spec] no dimension ", i, sizes());
    return raw_->dims[i < 0 ? i + dims : i];
  }
  int64_t dim() const { return raw_->num_dims; }
  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t extent : sizes()) count *= extent;
    return count;
  }
  Dtype dtype() const { return static_cast<Dtype>(raw_->dtype); }
  std::string_view name() const { return detail::view(raw_->name); }
  bool is_contiguous() const {
    return (raw_->flags & TITAN_TENSOR_CONTIGUOUS) != 0;
  }

 private:
  const titan_tensor_spec* raw_;
};

}  // namespace titan

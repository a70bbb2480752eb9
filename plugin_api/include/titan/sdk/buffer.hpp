// SPDX-License-Identifier: BSD-3-Clause
// What a model keeps from step to step beside its parameters: statistics,
// running values, constants. Their rules: abi/buffer.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <titan/sdk/build.hpp>
#include <titan/sdk/context.hpp>

namespace titan {

enum class BufferKind : uint32_t {
  kTransient = 0,
  kPersistent = TITAN_BUFFER_PERSISTENT,  // in checkpoints
  kStatistic = TITAN_BUFFER_STATISTIC,    // what the last step gave
  // The same, for after_step only: not in checkpoints.
  kStepStatistic = TITAN_BUFFER_STATISTIC | TITAN_BUFFER_UNSAVED,
};

/// How `accumulate` combines values over microbatches and ranks.
enum class BufferOp : uint32_t {
  kSum = 0,
  kMax = TITAN_BUFFER_MAX,
  kLast = TITAN_BUFFER_LAST,  // the same value on every rank
};

/// Over which ranks beside data ranks.
enum class BufferAxes : uint32_t {
  kData = 0,
  kDataAndTensor = TITAN_BUFFER_OVER_TENSOR,  // each counts its heads
};

/// A buffer of the model; zeros unless `initial` says otherwise.
class Buffer {
 public:
  [[gnu::noinline]] Buffer(const Build& b,
                           std::vector<int64_t> sizes,
                           Dtype dtype,
                           BufferKind kind,
                           BufferOp op = BufferOp::kSum,
                           BufferAxes axes = BufferAxes::kData)
      : builder_(b.builder()) {
    const TensorSpec spec{
        std::move(sizes), std::string(b.name()), dtype, /*flags=*/0};
    const titan_tensor_spec raw = spec.raw();
    detail::build_call(detail::builder().buffer,
                       b.builder(),
                       b.parent(),
                       &raw,
                       static_cast<uint32_t>(kind) | static_cast<uint32_t>(op) |
                           static_cast<uint32_t>(axes),
                       &handle_);
  }
  /// Sets the first values; only while building.
  template <typename Element>
  void initial(std::span<const Element> values) {
    detail::build_call(detail::builder().initial,
                       builder_,
                       handle_,
                       static_cast<const void*>(values.data()),
                       static_cast<uint64_t>(values.size_bytes()));
  }
  Tensor operator()(Context& ctx) const {
    return Context::tensor([&](titan_tensor* out, titan_error* error) {
      return Context::api().buffer(ctx.handle(), handle_, out, error);
    });
  }
  /// Adds to what the running step leaves in the buffer, once also under
  /// recompute; reading gives what the steps before left (abi/buffer.h).
  void accumulate(Context& ctx, const Tensor& value) const {
    detail::HostError error;
    detail::check(
        Context::api().accumulate(ctx.handle(), handle_, value.handle(), error),
        error);
  }
  /// Replaces a persistent buffer's value; in after_step only, and the same on
  /// every rank.
  void set(Context& ctx, const Tensor& value) const {
    detail::HostError error;
    detail::check(
        Context::api().set_buffer(ctx.handle(), handle_, value.handle(), error),
        error);
  }

 private:
  titan_builder* builder_;
  titan_buffer* handle_ = nullptr;
};

}  // namespace titan

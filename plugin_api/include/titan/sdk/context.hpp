// SPDX-License-Identifier: BSD-3-Clause
// What a forward may ask of the host: the batch, the mode, side inputs, and the
// path of losses and metrics. [thread: the rank's]
#pragma once

#include <string_view>

#include <titan/sdk/tensor.hpp>

namespace titan {

enum class Mode : int32_t {
  kTrain = TITAN_MODE_TRAIN,
  kEval = TITAN_MODE_EVAL,
  kPrefill = TITAN_MODE_PREFILL,
  kDecode = TITAN_MODE_DECODE,
};

class Context {
 public:
  explicit Context(titan_context* handle) : handle_(handle) {}

  Mode mode() const { return static_cast<Mode>(api().mode(handle_)); }
  bool is_training() const { return mode() == Mode::kTrain; }

  /// "tokens" [T], "positions" [T] or [T,3], "doc_id" [T], "cu_seqlens" [S+1],
  /// ... and named extras. Constant: no gradient flows into it.
  Tensor batch(std::string_view name) const {
    return tensor([&](titan_tensor* out, titan_error* error) {
      return api().batch(handle_, detail::str(name), out, error);
    });
  }
  bool has_batch(std::string_view name) const {
    return api().has_batch(handle_, detail::str(name)) != 0;
  }
  /// Output of a tower named in the item's side inputs.
  Tensor side_input(std::string_view name) const {
    return tensor([&](titan_tensor* out, titan_error* error) {
      return api().side_input(handle_, detail::str(name), out, error);
    });
  }

  /// Adds sum / (global count named `normaliser`) to the loss. Never divide by
  /// a local count: it would change with the layout.
  void add_loss(std::string_view name,
                const Tensor& sum,
                std::string_view normaliser) const {
    detail::HostError error;
    detail::check(api().add_loss(handle_,
                                 detail::str(name),
                                 sum.handle(),
                                 detail::str(normaliser),
                                 error),
                  error);
  }
  void add_metric(std::string_view name, const Tensor& value) const {
    detail::HostError error;
    detail::check(
        api().add_metric(handle_, detail::str(name), value.handle(), error),
        error);
  }

  titan_context* handle() const { return handle_; }
  static const titan_context_api& api() { return *host().context; }
  /// A host function that writes a new reference.
  template <typename Function>
  static Tensor tensor(Function function) {
    titan_tensor out = nullptr;
    detail::HostError error;
    detail::check(function(&out, error), error);
    return Tensor::adopt(out);
  }

 private:
  titan_context* handle_;
};

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Optimizers, kind titan.optimizer/1, from a class to its C table. It has
//   static constexpr uint32_t kFlags     TITAN_OPTIMIZER_ELEMENTWISE or _MATRIX
//   void describe_state(const TensorSpecView& parameter, StateList&) const
//   void step(const OptimizerCall&)
#pragma once

#include <cmath>
#include <string_view>

#include <titan/sdk/object.hpp>
#include <titan/sdk/spec.hpp>

namespace titan {

/// Collects the state tensors of one parameter; all start at zero.
class StateList {
 public:
  explicit StateList(const titan_state_sink& sink) : sink_(sink) {}

  /// The parameter's own (local) shape.
  void like_parameter(std::string_view name, Dtype dtype) {
    titan_tensor_spec spec{};
    spec.struct_size = sizeof(spec);
    spec.dtype = static_cast<int32_t>(dtype);
    spec.flags = TITAN_STATE_LIKE_PARAMETER;
    spec.name = detail::str(name);
    sink_.add(sink_.self, &spec);
  }
  void tensor(std::string_view name, Dtype dtype, IntList sizes) {
    titan_tensor_spec spec{};
    spec.struct_size = sizeof(spec);
    spec.dtype = static_cast<int32_t>(dtype);
    spec.dims = sizes.data();
    spec.num_dims = static_cast<uint32_t>(sizes.size());
    spec.name = detail::str(name);
    sink_.add(sink_.self, &spec);
  }

 private:
  const titan_state_sink& sink_;
};

/// One group of parameters. Parameters and states are updated in place,
/// gradients are read-only; lr, step and grad_scale are float64 scalars on the
/// device and must not be waited for there. The host calls without autograd.
class OptimizerCall {
 public:
  explicit OptimizerCall(const titan_optimizer_call& raw) : raw_(raw) {}

  uint32_t num_params() const { return raw_.num_params; }
  TensorView param(uint32_t i) const { return TensorView(raw_.params[i]); }
  /// Undefined for a parameter that got no gradient.
  TensorView grad(uint32_t i) const { return TensorView(raw_.grads[i]); }
  TensorView state(uint32_t i, uint32_t k) const {
    return TensorView(raw_.states[std::size_t{i} * raw_.num_states + k]);
  }
  TensorView lr() const { return TensorView(raw_.lr); }
  /// Counts from 1.
  TensorView step() const { return TensorView(raw_.step); }
  TensorView grad_scale() const { return TensorView(raw_.grad_scale); }
  double lr_multiplier() const { return raw_.lr_multiplier; }
  /// The group's weight decay, or the optimizer's own.
  double weight_decay_or(double own) const {
    return std::isnan(raw_.weight_decay) ? own : raw_.weight_decay;
  }
  void* stream() const { return raw_.stream ? raw_.stream->native : nullptr; }

 private:
  const titan_optimizer_call& raw_;
};

namespace detail {

template <typename Optimizer>
struct OptimizerFunctions {
  static int32_t describe_state(const titan_object* self,
                                const titan_tensor_spec* parameter,
                                const titan_state_sink* sink,
                                titan_error* error) noexcept {
    return guard(error, [&] {
      StateList states(*sink);
      object<Optimizer>(self).describe_state(TensorSpecView(parameter), states);
    });
  }
  static int32_t step(titan_object* self,
                      const titan_optimizer_call* call,
                      titan_error* error) noexcept {
    return guard(error,
                 [&] { object<Optimizer>(self).step(OptimizerCall(*call)); });
  }
};

template <typename Optimizer>
class OptimizerTable {
 public:
  template <typename Description>
  explicit OptimizerTable(const Description&) {
    table_.struct_size = sizeof(table_);
    table_.flags = Optimizer::kFlags;
    table_.create = create_object<Optimizer>;
    table_.destroy = destroy_object<Optimizer>;
    table_.describe_state = OptimizerFunctions<Optimizer>::describe_state;
    table_.step = OptimizerFunctions<Optimizer>::step;
  }
  const void* get() const { return &table_; }

 private:
  titan_optimizer_table table_{};
};

}  // namespace detail
}  // namespace titan

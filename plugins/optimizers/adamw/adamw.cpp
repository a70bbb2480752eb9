// SPDX-License-Identifier: BSD-3-Clause
// One pass over memory on the CPU, for each mix of types; ATen ops elsewhere.
// aten::_fused_adamw_ is not used: it divides by grad_scale where we multiply,
// and writes the unscaled gradient back, which is read-only here.
#include "plugins/optimizers/adamw/adamw.h"

#include <cmath>

#include <titan/sdk/functions.hpp>

#include "plugins/optimizers/adamw/element.h"

namespace titan::adamw {
namespace {

// 4096 elements: 100 KB of traffic, enough to hide a task switch.
constexpr int64_t kGrain = 4096;

/// What is the same for all elements of a step.
template <typename Real>
struct Constants {
  Real beta1;
  Real beta2;
  Real grad_scale;
  Real keep;        // 1 - lr * weight_decay
  Real step_size;   // lr / (1 - beta1^step)
  Real root_scale;  // sqrt(1 - beta2^step)
  Real eps;
};

struct Hyper {
  double lr;
  double step;
  double grad_scale;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;

  template <typename Real>
  Constants<Real> constants() const {
    const auto real = [](double value) { return static_cast<Real>(value); };
    return {real(beta1),
            real(beta2),
            real(grad_scale),
            real(1 - lr * weight_decay),
            real(lr / (1 - std::pow(beta1, step))),
            real(std::sqrt(1 - std::pow(beta2, step))),
            real(eps)};
  }
};

struct Tensors {
  TensorView param;
  TensorView grad;
  TensorView first;
  TensorView second;
};

template <typename Param, typename Grad, typename State>
void update_range(const Constants<Accumulator<Param>>& c,
                  Param* __restrict param,
                  const Grad* __restrict grad,
                  State* __restrict first,
                  State* __restrict second,
                  int64_t size) {
  using Real = Accumulator<Param>;
  for (int64_t i = 0; i < size; ++i) {
    const Real g = static_cast<Real>(load(grad[i])) * c.grad_scale;
    Real m = static_cast<Real>(load(first[i]));
    Real v = static_cast<Real>(load(second[i]));
    m += (g - m) * (1 - c.beta1);
    v = v * c.beta2 + g * g * (1 - c.beta2);
    const Real root = std::sqrt(v) / c.root_scale + c.eps;
    const Real p = static_cast<Real>(load(param[i])) * c.keep;
    store(param[i], p - c.step_size * m / root);
    store(first[i], static_cast<Accumulator<State>>(m));
    store(second[i], static_cast<Accumulator<State>>(v));
  }
}

template <typename Param, typename Grad, typename State>
void update(const Tensors& t, const Hyper& hyper) {
  const auto constants = hyper.constants<Accumulator<Param>>();
  auto* param = t.param.data<Param>();
  const auto* grad = t.grad.data<Grad>();
  auto* first = t.first.data<State>();
  auto* second = t.second.data<State>();
  parallel_for(0, t.param.numel(), kGrain, [&](int64_t begin, int64_t end) {
    update_range(constants,
                 param + begin,
                 grad + begin,
                 first + begin,
                 second + begin,
                 end - begin);
  });
}

/// Calls `body` with a null pointer of the element type.
template <typename Body>
void with_type(Dtype dtype, const char* what, Body body) {
  switch (dtype) {
    case Dtype::kF32:
      return body(static_cast<float*>(nullptr));
    case Dtype::kF64:
      return body(static_cast<double*>(nullptr));
    case Dtype::kBF16:
      return body(static_cast<BFloat16*>(nullptr));
    default:
      throw UserError(text("[adamw] type of a ",
                           what,
                           " is not supported: expected fp32, fp64 or bf16, "
                           "got ScalarType ",
                           static_cast<int32_t>(dtype)));
  }
}

void update(const Tensors& t, const Hyper& hyper) {
  for (const TensorView& each : {t.param, t.grad, t.first, t.second})
    TITAN_CHECK(each.is_contiguous(), "[adamw] tensors must be contiguous");
  with_type(t.param.dtype(), "parameter", [&](auto* param) {
    with_type(t.grad.dtype(), "gradient", [&](auto* grad) {
      with_type(t.first.dtype(), "state", [&](auto* state) {
        update<std::remove_pointer_t<decltype(param)>,
               std::remove_pointer_t<decltype(grad)>,
               std::remove_pointer_t<decltype(state)>>(t, hyper);
      });
    });
  });
}

}  // namespace

AdamW::AdamW(const Config& config)
    : eps_(config.f64("eps")),
      weight_decay_(config.f64("weight_decay")),
      state_dtype_(config.str("state_dtype")) {
  const Json betas = config.json("betas");
  beta1_ = betas.at(std::size_t{0}).f64();
  beta2_ = betas.at(std::size_t{1}).f64();
  for (const double beta : {beta1_, beta2_})
    TITAN_USER_CHECK(0 <= beta && beta < 1,
                     "[optimizer.betas] must lie in [0, 1): expected a decay, "
                     "got ",
                     beta);
}

void AdamW::describe_state(const TensorSpecView& parameter,
                           StateList& out) const {
  const Dtype dtype = state_dtype_ == "fp32"   ? Dtype::kF32
                      : state_dtype_ == "bf16" ? Dtype::kBF16
                                               : parameter.dtype();
  out.like_parameter("exp_avg", dtype);
  out.like_parameter("exp_avg_sq", dtype);
}

void AdamW::step(const OptimizerCall& call) const {
  const double weight_decay = call.weight_decay_or(weight_decay_);
  for (uint32_t i = 0; i < call.num_params(); ++i) {
    if (!call.grad(i).defined()) continue;
    if (!call.param(i).is_cpu()) {
      step_on_device(call, i);
      continue;
    }
    const Hyper hyper{*call.lr().data<double>() * call.lr_multiplier(),
                      *call.step().data<double>(),
                      *call.grad_scale().data<double>(),
                      beta1_,
                      beta2_,
                      eps_,
                      weight_decay};
    update({call.param(i), call.grad(i), call.state(i, 0), call.state(i, 1)},
           hyper);
  }
}

// The same formula in ATen ops: scalars stay on the device, nothing waits.
void AdamW::step_on_device(const OptimizerCall& call, uint32_t i) const {
  Tensor param = call.param(i).retain();
  Tensor first = call.state(i, 0).retain();
  Tensor second = call.state(i, 1).retain();
  const Dtype real = accumulation_dtype(param.dtype());
  const Tensor lr = call.lr().retain() * call.lr_multiplier();
  const Tensor step = call.step().retain();
  // Tensor powers of a number: exp(step log beta).
  const auto correction = [&](double beta) {
    return 1 - (step * std::log(beta)).exp();
  };
  const Tensor step_size = (lr / correction(beta1_)).to(real);
  const Tensor root_scale = correction(beta2_).sqrt().to(real);
  const Tensor keep = (1 - lr * call.weight_decay_or(weight_decay_)).to(real);

  const Tensor g =
      call.grad(i).retain().to(real) * call.grad_scale().retain().to(real);
  const Tensor m = first.to(real) * beta1_ + g * (1 - beta1_);
  const Tensor v = second.to(real) * beta2_ + g * g * (1 - beta2_);
  const Tensor root = v.sqrt() / root_scale + eps_;
  param.copy_(param.to(real) * keep - step_size * m / root);
  first.copy_(m);
  second.copy_(v);
}

}  // namespace titan::adamw

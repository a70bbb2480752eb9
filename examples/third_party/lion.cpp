// SPDX-License-Identifier: BSD-3-Clause
// Lion (arXiv 2302.06675, algorithm 2): the sign of an interpolated momentum,
// decoupled decay, one state tensor. In ATen ops, so it runs on any device; lr
// stays there and nothing waits.
#include <titan/sdk.hpp>

using titan::Tensor;

struct Lion {
  static constexpr uint32_t kFlags = TITAN_OPTIMIZER_ELEMENTWISE;
  static constexpr std::string_view kSchema = R"json({
"type": "object", "additionalProperties": false, "properties": {
"lr": {"type": "number", "default": 0.0003, "minimum": 0,
  "description": "Base learning rate; the schedule scales it"},
"betas": {"type": "array", "items": {"type": "number"}, "minItems": 2,
  "maxItems": 2, "default": [0.9, 0.99],
  "description": "Weight of the momentum in the update and in itself"},
"weight_decay": {"type": "number", "default": 0.1, "minimum": 0,
  "description": "Decoupled: weights shrink by lr times this"}
}})json";

  explicit Lion(const titan::Config& config)
      : beta1(config.json("betas").at(std::size_t{0}).f64()),
        beta2(config.json("betas").at(std::size_t{1}).f64()),
        weight_decay(config.f64("weight_decay")) {
    for (const double beta : {beta1, beta2})
      TITAN_USER_CHECK(0 <= beta && beta < 1,
                       "[optimizer.betas] must lie in [0, 1): expected a "
                       "decay, got ",
                       beta);
  }

  void describe_state(const titan::TensorSpecView& parameter,
                      titan::StateList& out) const {
    out.like_parameter("momentum", parameter.dtype());
  }

  void step(const titan::OptimizerCall& call) const {
    const double decay = call.weight_decay_or(weight_decay);
    for (uint32_t i = 0; i < call.num_params(); ++i) {
      if (!call.grad(i).defined()) continue;
      Tensor param = call.param(i).retain();
      Tensor momentum = call.state(i, 0).retain();
      const titan::Dtype real = titan::accumulation_dtype(param.dtype());
      const Tensor lr = (call.lr().retain() * call.lr_multiplier()).to(real);
      const Tensor g =
          call.grad(i).retain().to(real) * call.grad_scale().retain().to(real);
      const Tensor m = momentum.to(real);
      const Tensor update = (m * beta1 + g * (1 - beta1)).sign();
      param.copy_(param.to(real) * (1 - lr * decay) - lr * update);
      momentum.copy_(m * beta2 + g * (1 - beta2));
    }
  }

  double beta1;
  double beta2;
  double weight_decay;
};

TITAN_PLUGIN({.name = "acme.lion",
              .version = "1.0.0",
              .vendor = "Acme",
              .licence = "BSD-3-Clause"},
             titan::optimizer<Lion>("acme.lion", "sign of the momentum"))

// SPDX-License-Identifier: BSD-3-Clause
// AdamW (arXiv 1711.05101) with torch.optim.AdamW's arithmetic: decoupled
// decay, bias correction, eps outside the square root.
#pragma once

#include <string_view>

#include <titan/sdk/optimizer.hpp>

namespace titan::adamw {

class AdamW {
 public:
  static constexpr uint32_t kFlags = TITAN_OPTIMIZER_ELEMENTWISE;
  static constexpr std::string_view kSchema = R"json({
"type": "object", "additionalProperties": false, "properties": {
"lr": {"type": "number", "default": 0.0008, "minimum": 0,
  "description": "Base learning rate; the schedule scales it"},
"betas": {"type": "array", "items": {"type": "number"}, "minItems": 2,
  "maxItems": 2, "default": [0.9, 0.95],
  "description": "Decay of the first and the second moment, each in [0, 1)"},
"eps": {"type": "number", "default": 1e-8, "minimum": 0,
  "description": "Added to the root of the second moment"},
"weight_decay": {"type": "number", "default": 0.1, "minimum": 0,
  "description": "Decoupled: weights shrink by lr times this"},
"state_dtype": {"type": "string", "default": "same",
  "enum": ["same", "fp32", "bf16"],
  "description": "Type of both moments; same = the parameter's, bf16 halves them"}
}})json";

  explicit AdamW(const Config& config);

  void describe_state(const TensorSpecView& parameter, StateList& out) const;
  void step(const OptimizerCall& call) const;

 private:
  void step_on_device(const OptimizerCall& call, uint32_t i) const;

  double beta1_;
  double beta2_;
  double eps_;
  double weight_decay_;
  std::string state_dtype_;
};

}  // namespace titan::adamw

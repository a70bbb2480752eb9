// SPDX-License-Identifier: BSD-3-Clause
// One call of an op made up from shapes: for looking at selection and for
// timing kernels, where no model is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/op/spec.h"

namespace titan::op {

struct ExampleCall {
  const OpSpec* spec = nullptr;
  Attributes attributes;           // bound
  std::vector<TensorMeta> inputs;  // one per input of the op; some absent
  std::string origin;              // "the case \"one token\""; empty: given
};

/// What a person says of a call.
struct ExampleRequest {
  std::string op;     // "titan.swiglu/1" or "swiglu"
  std::string shape;  // "gate=7x13,up=7x13"; empty: the op's first case
  at::ScalarType dtype = at::kFloat;    // of floating inputs
  std::vector<std::string> attributes;  // "name=value"
};

/// "fp32" or "f32", "bf16", "fp16", "fp64". UserError for another name.
at::ScalarType parse_dtype(std::string_view name);

/// The op of the catalogue with this id, or with this name if one has it.
const OpSpec& find_op_by_name(const std::string& id_or_name);

/// UserError for unknown names, malformed text and shapes that the op refuses;
/// the last with the op's own words and a `--shape` that it takes.
ExampleCall make_example_call(const ExampleRequest& request);

/// "q=13x2x8,k=13x2x8": as `--shape` takes it.
std::string shape_text(const OpSpec& spec,
                       const std::vector<TensorMeta>& inputs);

/// Values for the call: normal, or as the op's cases draw them where those have
/// one sign; bounds of equal documents; ids in turn.
std::vector<at::Tensor> draw_inputs(const ExampleCall& call, uint64_t seed);

/// Bit i: input i is there, floating and has a gradient.
uint64_t differentiable_inputs(const OpSpec& spec,
                               const std::vector<at::Tensor>& inputs);

/// The inputs as backward sees them: undefined where the op keeps none.
std::vector<at::Tensor> kept_inputs(const OpSpec& spec,
                                    const std::vector<at::Tensor>& inputs);

/// A fixed, uneven gradient for an output, the same for any dtype.
at::Tensor uneven_gradient(const at::Tensor& output);

}  // namespace titan::op

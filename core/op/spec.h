// SPDX-License-Identifier: BSD-3-Clause
// What an op of the catalogue is: signature, formula, attributes, shapes, plain
// reference, tolerances, shapes to test it with. One OpSpec per op, one file
// per op in core/op/reference/; the catalogue (catalogue.h) lists them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/op/attributes.h"
#include "core/op/tensor_meta.h"

namespace titan::op {

struct InputSpec {
  std::string name;
  bool is_optional = false;
  bool is_differentiable = true;
  /// Backward receives it (else backward sees an undefined tensor).
  bool keep_for_backward = true;
  /// Written in place by forward (optimizer states).
  bool is_mutated = false;
};

struct OutputSpec {
  std::string name;
  bool is_differentiable = true;
};

struct AttributeSpec {
  std::string name;
  AttributeValue default_value;  // its type is the attribute's type
  std::string meaning;           // one line, with unit and special values
  std::vector<std::string> choices = {};  // of a string attribute; empty = any
  bool is_required = false;
};

/// Allowed relative norm error against the float64 reference, and who measured
/// it with how much slack.
struct Tolerance {
  double forward;
  double backward;
  std::string origin;
};

struct Shapes {
  std::vector<TensorMeta> outputs;
  std::vector<TensorMeta> saved;
};

/// One call of the reference, or of any kernel (kernel.h).
struct ForwardCall {
  const Attributes& attributes;
  c10::ArrayRef<at::Tensor> inputs;  // undefined = absent optional
  uint64_t want = 0;  // bit i: input i's gradient will be asked for; 0: the
                      // saved tensors are not needed and may stay undefined
  uint64_t seed = 0;  // Philox key of (seed, step, slot)
};

struct ForwardResult {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> saved;
};

struct BackwardCall {
  const Attributes& attributes;
  c10::ArrayRef<at::Tensor> inputs;        // undefined where not kept
  c10::ArrayRef<at::Tensor> saved;         // in the order of OpSpec::saved
  c10::ArrayRef<at::Tensor> grad_outputs;  // undefined = zero
  uint64_t want = 0;                       // bit i: gradient of input i
  uint64_t seed = 0;
};

/// One call used by conformance: inputs drawn in float64, rounded by the suite.
struct ConformanceCase {
  std::string name;
  Attributes attributes;
  std::function<std::vector<at::Tensor>(at::ScalarType dtype, uint64_t seed)>
      make_inputs;
};

struct OpSpec {
  std::string id;       // "titan.swiglu/1"
  std::string formula;  // one or two lines of text
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  /// Canonical saved tensors: what any kernel's forward hands to any kernel's
  /// backward. One named like an output is that output itself, not a copy.
  std::vector<std::string> saved;
  std::vector<AttributeSpec> attributes;

  std::function<Shapes(const Attributes&, const std::vector<TensorMeta>&)>
      shape;
  std::function<ForwardResult(const ForwardCall&)> forward;
  /// Null: the vector-Jacobian product of `forward`, by autograd.
  std::function<std::vector<at::Tensor>(const BackwardCall&)> backward;
  /// Shapes of the inputs' gradients from (attributes, grad_outputs, inputs as
  /// kept). Needed when a differentiable input is not kept for backward; null:
  /// a gradient is like its input.
  std::function<std::vector<TensorMeta>(const Attributes&,
                                        const std::vector<TensorMeta>&,
                                        const std::vector<TensorMeta>&)>
      grad_shapes;
  /// Floating-point operations of forward; null counts as zero. Backward is
  /// taken as `backward_flops_ratio` times forward.
  std::function<double(const Attributes&, const std::vector<TensorMeta>&)>
      flops;
  double backward_flops_ratio = 2.0;

  std::map<at::ScalarType, Tolerance> tolerances;
  std::function<std::vector<ConformanceCase>()> cases;

  bool is_stateful = false;  // takes host-owned state in decode
  std::string cache_spec;    // what that state is, e.g. "keys_values"

  /// "swiglu": name of the dispatcher op titan::swiglu.
  std::string name() const;
  int64_t input_index(std::string_view input_name) const;  // BugError if none
  /// Index of the output that saved tensor `i` is, or -1.
  int64_t saved_output(size_t i) const;
};

/// Checks names, types and choices of `given`, fills defaults; the result is in
/// declared order. `where` is "[titan.rope_complex/1 at layers.0.rope]".
Attributes bind_attributes(const OpSpec& spec,
                           const Attributes& given,
                           std::string_view where);

/// Shapes of the gradients that `want` asks for; the others are undefined.
std::vector<TensorMeta> infer_grad_shapes(
    const OpSpec& spec,
    const Attributes& attributes,
    const std::vector<TensorMeta>& grad_outputs,
    const std::vector<TensorMeta>& inputs,
    uint64_t want);

/// Checks number, presence, dtypes (float inputs agree) of the inputs, then
/// calls the shape function. Throws UserError with op, FQN and all shapes.
Shapes infer_shapes(const OpSpec& spec,
                    const Attributes& attributes,
                    const std::vector<TensorMeta>& inputs,
                    std::string_view where);

}  // namespace titan::op

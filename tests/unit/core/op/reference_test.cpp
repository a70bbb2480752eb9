// SPDX-License-Identifier: BSD-3-Clause
// Every op of the catalogue, every conformance case, every dtype: the
// reference, called through a slot and host autograd, against the float64
// formula and its autograd gradients.
#include <ATen/ATen.h>
#include <catch2/catch.hpp>
#include <torch/csrc/autograd/autograd.h>

#include "core/op/catalogue.h"
#include "core/op/slot.h"
#include "tests/unit/core/op/formulas.h"

namespace titan::op {
namespace {

using Tensors = std::vector<at::Tensor>;

bool is_mutating(const OpSpec& spec) {
  for (const InputSpec& input : spec.inputs)
    if (input.is_mutated) return true;
  return false;
}

/// The same values in `dtype` where floating and not a scalar of control.
Tensors convert(const Tensors& inputs, at::ScalarType dtype, bool wants_grad) {
  Tensors out;
  for (const at::Tensor& input : inputs) {
    at::Tensor converted = input;
    if (input.defined() && input.is_floating_point()) {
      converted = input.to(dtype).clone();
      converted.requires_grad_(wants_grad);
    }
    out.push_back(converted);
  }
  return out;
}

/// A fixed, uneven upstream gradient.
at::Tensor upstream(const at::Tensor& output) {
  const at::Tensor steps = at::arange(output.numel(), at::kDouble);
  return at::cos(steps).add_(0.5).view(output.sizes()).to(output.scalar_type());
}

struct Run {
  Tensors outputs;
  Tensors grads;
};

Run differentiate(const OpSpec& spec,
                  const Tensors& outputs,
                  const Tensors& inputs) {
  Run run;
  Tensors differentiable, grad_outputs, wanted;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    if (!spec.outputs[i].is_differentiable) continue;
    differentiable.push_back(outputs[i]);
    grad_outputs.push_back(upstream(outputs[i]));
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (spec.inputs[i].is_differentiable && inputs[i].defined() &&
        inputs[i].requires_grad())
      wanted.push_back(inputs[i]);
  run.outputs = outputs;
  if (!wanted.empty())
    run.grads = torch::autograd::grad(
        differentiable, wanted, grad_outputs, std::nullopt, false, true);
  for (size_t i = 0; i < run.grads.size(); ++i)
    if (!run.grads[i].defined()) run.grads[i] = at::zeros_like(wanted[i]);
  return run;
}

double norm_of(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).norm().item<double>();
}

/// Norm of the difference over norm of the reference, the latter at least a
/// hundredth of `scale`: a gradient that cancels to zero has no error of its
/// own to be relative to.
double relative_error(const at::Tensor& got,
                      const at::Tensor& expected,
                      double scale = 0) {
  REQUIRE(got.sizes() == expected.sizes());
  if (got.numel() == 0) return 0;
  const double error =
      norm_of(got.detach().to(at::kDouble) - expected.detach());
  return error / std::max({norm_of(expected), 0.1 * scale, 1e-6});
}

double global_norm(const Tensors& tensors) {
  double sum = 0;
  for (const at::Tensor& tensor : tensors)
    sum += norm_of(tensor) * norm_of(tensor);
  return std::sqrt(sum);
}

void compare(const OpSpec& spec,
             const ConformanceCase& tested,
             at::ScalarType dtype) {
  INFO(spec.id << ", case \"" << tested.name << "\", " << dtype_name(dtype)
               << ", seed 7");
  const Tolerance& tolerance = spec.tolerances.at(dtype);
  const Tensors drawn = tested.make_inputs(dtype, 7);
  const bool differentiates = !is_mutating(spec);
  Slot slot(spec, "layer", "", tested.attributes);
  const Tensors inputs = convert(drawn, dtype, differentiates);
  const Tensors exact = convert(drawn, at::kDouble, differentiates);
  Tensors outputs = invoke(slot, inputs);
  if (is_mutating(spec))
    for (size_t i = 0; i < inputs.size(); ++i)
      if (spec.inputs[i].is_mutated) outputs.push_back(inputs[i]);
  const Run got = differentiate(spec, outputs, inputs);
  const Run expected =
      differentiate(spec, test::formula(spec, slot.attributes(), exact), exact);
  REQUIRE(got.outputs.size() == expected.outputs.size());
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    INFO("output " << i);
    CHECK(relative_error(got.outputs[i], expected.outputs[i]) <=
          tolerance.forward);
  }
  REQUIRE(got.grads.size() == expected.grads.size());
  for (size_t i = 0; i < got.grads.size(); ++i) {
    INFO("gradient " << i);
    CHECK(relative_error(got.grads[i],
                         expected.grads[i],
                         global_norm(expected.grads)) <= tolerance.backward);
  }
}

TEST_CASE("every reference equals its float64 formula in all dtypes") {
  for (const OpSpec* spec : all_ops())
    for (const ConformanceCase& tested : spec->cases())
      for (const auto& [dtype, tolerance] : spec->tolerances)
        compare(*spec, tested, dtype);
}

TEST_CASE("every op states formula, cases, tolerances and their origin") {
  REQUIRE(all_ops().size() >= 11);
  for (const OpSpec* spec : all_ops()) {
    INFO(spec->id);
    CHECK_FALSE(spec->formula.empty());
    CHECK_FALSE(spec->cases().empty());
    CHECK(spec->tolerances.count(at::kDouble) == 1);
    for (const auto& [dtype, tolerance] : spec->tolerances)
      CHECK_FALSE(tolerance.origin.empty());
    for (const InputSpec& input : spec->inputs)
      CHECK((!input.is_differentiable || input.keep_for_backward ||
             spec->grad_shapes));
  }
}

TEST_CASE("shape functions agree with what references return") {
  for (const OpSpec* spec : all_ops()) {
    for (const ConformanceCase& tested : spec->cases()) {
      INFO(spec->id << ", case \"" << tested.name << '"');
      const Attributes attributes =
          bind_attributes(*spec, tested.attributes, "[test]");
      const Tensors inputs = tested.make_inputs(at::kBFloat16, 3);
      std::vector<TensorMeta> metas;
      uint64_t want = 0;
      for (size_t i = 0; i < inputs.size(); ++i) {
        metas.push_back(TensorMeta::of(inputs[i]));
        if (inputs[i].defined() && spec->inputs[i].is_differentiable)
          want |= uint64_t{1} << i;
      }
      const Shapes shapes = infer_shapes(*spec, attributes, metas, "[test]");
      const ForwardResult result = spec->forward({attributes, inputs, want, 0});
      REQUIRE(result.outputs.size() == spec->outputs.size());
      REQUIRE(shapes.outputs.size() == spec->outputs.size());
      REQUIRE(shapes.saved.size() == spec->saved.size());
      for (size_t i = 0; i < result.outputs.size(); ++i)
        CHECK(TensorMeta::of(result.outputs[i]).text() ==
              shapes.outputs[i].text());
      for (size_t i = 0; i < result.saved.size(); ++i)
        CHECK(TensorMeta::of(result.saved[i]).text() == shapes.saved[i].text());
    }
  }
}

/// Central differences of <upstream, op(inputs)> along one random direction.
TEST_CASE("gradients equal finite differences in float64") {
  constexpr double kStep = 1e-6;
  // Truncation ~ step^2, cancellation ~ 1e-16 / step: 1e-8 at best; slack 50.
  constexpr double kTolerance = 5e-7;
  for (const OpSpec* spec : all_ops()) {
    if (is_mutating(*spec)) continue;
    const ConformanceCase tested = spec->cases()[0];
    INFO(spec->id << ", case \"" << tested.name << '"');
    Slot slot(*spec, "layer", "", tested.attributes);
    const Tensors drawn = tested.make_inputs(at::kDouble, 11);
    for (size_t i = 0; i < drawn.size(); ++i) {
      if (!spec->inputs[i].is_differentiable || !drawn[i].defined()) continue;
      INFO("input " << spec->inputs[i].name);
      Tensors inputs = drawn;
      inputs[i] = drawn[i].clone().requires_grad_(true);
      const Run run = differentiate(*spec, invoke(slot, inputs), inputs);
      const at::Tensor direction =
          at::sin(at::arange(drawn[i].numel(), at::kDouble))
              .view(drawn[i].sizes());
      const auto value_at = [&](double distance) {
        Tensors moved = drawn;
        moved[i] = drawn[i] + distance * direction;
        const at::Tensor output = invoke(slot, moved)[0];
        return (output * upstream(output)).sum().item<double>();
      };
      const double slope = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
      const double expected = (run.grads[0] * direction).sum().item<double>();
      CHECK(std::abs(slope - expected) <=
            kTolerance * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST_CASE("an explicit backward equals the vjp of the forward formula") {
  // The fallback for ops without a backward, on an op whose forward ATen can
  // differentiate.
  const OpSpec& spec = find_op("titan.swiglu/1");
  const Attributes none;
  Tensors inputs = spec.cases()[0].make_inputs(at::kDouble, 5);
  const Tensors grad_outputs = {upstream(inputs[0])};
  const BackwardCall call{none, inputs, {}, grad_outputs, 3, 0};
  const Tensors by_hand = spec.backward(call);
  const Tensors by_autograd = reference_vjp(spec, call);
  for (int i = 0; i < 2; ++i)
    CHECK(relative_error(by_autograd[i], by_hand[i]) < 1e-14);
}

TEST_CASE("NaN and infinity pass through every float op") {
  for (const OpSpec* spec : all_ops()) {
    if (is_mutating(*spec) || !spec->inputs[0].is_differentiable) continue;
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      INFO(spec->id << ' ' << dtype_name(dtype));
      const ConformanceCase tested = spec->cases()[0];
      Tensors inputs = tested.make_inputs(dtype, 3);
      // LibTorch's flash kernel on the CPU gives 0 for a NaN query, so v.
      at::Tensor& poisoned = inputs[spec->name() == "attention" ? 2 : 0];
      // The last row: losses ignore their first ones.
      poisoned.select(0, poisoned.size(0) - 1).fill_(NAN);
      Slot slot(*spec, "layer", "", tested.attributes);
      CHECK(at::isnan(invoke(slot, inputs)[0]).any().item<bool>());
    }
  }
}

}  // namespace
}  // namespace titan::op

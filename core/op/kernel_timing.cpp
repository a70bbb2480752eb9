// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/kernel_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace titan::op {
namespace {

using TensorList = std::vector<at::Tensor>;

/// What every kernel is given.
struct Given {
  TensorList inputs;
  TensorList kept;
  TensorList grad_outputs;
  uint64_t want = 0;
};

struct Results {
  TensorList outputs;
  TensorList gradients;
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;
  return spent.count();
}

TensorList gradients_of_outputs(const OpSpec& spec, const TensorList& outputs) {
  TensorList out;
  for (size_t i = 0; i < outputs.size(); ++i)
    out.push_back(spec.outputs[i].is_differentiable
                      ? uneven_gradient(outputs[i])
                      : at::Tensor());
  return out;
}

/// One forward, one backward; adds their times to `timing` if there is one.
Results run_step(const ExampleCall& call,
                 const Kernel& kernel,
                 const Given& given,
                 KernelTiming* timing) {
  auto start = std::chrono::steady_clock::now();
  ForwardResult forward =
      kernel.forward({call.attributes, given.inputs, given.want, 0});
  if (timing != nullptr)
    timing->forward_ms.push_back(milliseconds_since(start));
  Results results{std::move(forward.outputs), {}};
  if (given.want == 0 || !(kernel.match().flags & TITAN_KERNEL_HAS_BACKWARD))
    return results;
  start = std::chrono::steady_clock::now();
  results.gradients = kernel.backward({call.attributes,
                                       given.kept,
                                       forward.saved,
                                       given.grad_outputs,
                                       given.want,
                                       0});
  if (timing != nullptr)
    timing->backward_ms.push_back(milliseconds_since(start));
  return results;
}

double peak_error(const TensorList& got, const TensorList& expected) {
  double worst = 0;
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    if (!got[i].defined() || !expected[i].defined() || got[i].numel() == 0)
      continue;
    const at::Tensor exact = expected[i].to(at::kDouble);
    const double error =
        (got[i].to(at::kDouble) - exact).abs().max().item<double>() /
        std::max(exact.abs().max().item<double>(), 1e-30);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error);
  }
  return worst;
}

TensorList in_float64(const TensorList& tensors) {
  TensorList out;
  for (const at::Tensor& tensor : tensors)
    out.push_back(tensor.defined() && tensor.is_floating_point()
                      ? tensor.to(at::kDouble)
                      : tensor);
  return out;
}

/// Written in place by some ops, so each run gets its own.
TensorList copies_of_mutated(const OpSpec& spec, const TensorList& inputs) {
  TensorList out = inputs;
  for (size_t i = 0; i < out.size(); ++i)
    if (spec.inputs[i].is_mutated && out[i].defined()) out[i] = out[i].clone();
  return out;
}

void add_errors(const ExampleCall& call,
                const std::vector<Results>& results,
                const Given& given,
                std::vector<KernelTiming>& timings) {
  const Given exact_given{in_float64(given.inputs),
                          in_float64(given.kept),
                          in_float64(given.grad_outputs),
                          given.want};
  const Results exact =
      run_step(call, *reference_kernel(*call.spec), exact_given, nullptr);
  for (size_t i = 0; i < timings.size(); ++i) {
    timings[i].forward_error = peak_error(results[i].outputs, exact.outputs);
    if (!results[i].gradients.empty())
      timings[i].backward_error =
          peak_error(results[i].gradients, exact.gradients);
  }
}

std::vector<double> whole_steps(const KernelTiming& timing) {
  std::vector<double> out = timing.forward_ms;
  for (size_t i = 0; i < timing.backward_ms.size(); ++i)
    out[i] += timing.backward_ms[i];
  return out;
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

double KernelTiming::ms_median() const {
  return median_of(whole_steps(*this));
}

double KernelTiming::ms_min() const {
  const auto steps = whole_steps(*this);
  return steps.empty() ? 0 : *std::min_element(steps.begin(), steps.end());
}

CallCost cost_of(const ExampleCall& call) {
  const OpSpec& spec = *call.spec;
  CallCost cost;
  const double forward =
      spec.flops ? spec.flops(call.attributes, call.inputs) : 0;
  bool has_gradients = false;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorMeta& input = call.inputs[i];
    if (!input.is_defined) continue;
    const auto bytes = static_cast<double>(input.size_bytes());
    const bool is_wanted =
        spec.inputs[i].is_differentiable && at::isFloatingType(input.dtype);
    has_gradients = has_gradients || is_wanted;
    cost.bytes += is_wanted ? 2 * bytes : bytes;
  }
  const Shapes shapes = spec.shape(call.attributes, call.inputs);
  for (size_t i = 0; i < shapes.outputs.size(); ++i) {
    const auto bytes = static_cast<double>(shapes.outputs[i].size_bytes());
    const bool has_gradient =
        has_gradients && spec.outputs[i].is_differentiable;
    cost.bytes += has_gradient ? 2 * bytes : bytes;
  }
  cost.flops = forward * (has_gradients ? 1 + spec.backward_flops_ratio : 1);
  return cost;
}

std::vector<KernelTiming> time_kernels(
    const ExampleCall& call,
    const std::vector<std::shared_ptr<const Kernel>>& kernels,
    const TimingOptions& options) {
  const OpSpec& spec = *call.spec;
  Given given;
  given.inputs = draw_inputs(call, options.seed);
  given.want = differentiable_inputs(spec, given.inputs);
  given.kept = kept_inputs(spec, given.inputs);
  const Given first{copies_of_mutated(spec, given.inputs), {}, {}, 0};
  given.grad_outputs = gradients_of_outputs(
      spec, run_step(call, *reference_kernel(spec), first, nullptr).outputs);
  std::vector<KernelTiming> timings(kernels.size());
  std::vector<Results> results(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    timings[i].kernel_id = kernels[i]->id();
    Given fresh = given;
    fresh.inputs = copies_of_mutated(spec, given.inputs);
    results[i] = run_step(call, *kernels[i], fresh, nullptr);
  }
  if (options.has_error) {
    Given fresh = given;
    fresh.inputs = copies_of_mutated(spec, given.inputs);
    add_errors(call, results, fresh, timings);
  }
  results.clear();
  for (int step = -options.warmup; step < options.steps; ++step)
    for (size_t i = 0; i < kernels.size(); ++i)
      run_step(call, *kernels[i], given, step < 0 ? nullptr : &timings[i]);
  return timings;
}

}  // namespace titan::op

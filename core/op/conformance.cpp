// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/conformance.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <titan/error.h>
#include <titan/text.h>

#include "core/op/catalogue.h"
#include "core/op/example_call.h"

namespace titan::op {
namespace {

using Tensors = std::vector<at::Tensor>;

double norm_of(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

double relative_error(const at::Tensor& got,
                      const at::Tensor& expected,
                      double floor) {
  TITAN_USER_CHECK(got.sizes() == expected.sizes(),
                   "shape: expected ",
                   expected.sizes(),
                   ", got ",
                   got.sizes());
  if (got.numel() == 0) return 0;
  const double error = norm_of(got.to(at::kDouble) - expected.to(at::kDouble)) /
                       std::max({norm_of(expected), floor, 1e-6});
  return std::isnan(error) ? INFINITY : error;
}

/// The same values with a gap behind the last dim.
at::Tensor with_gaps(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor;
  std::vector<int64_t> sizes = tensor.sizes().vec();
  sizes.back() += 3;
  const at::Tensor room = at::zeros(sizes, tensor.options());
  const at::Tensor view = room.narrow(-1, 1, sizes.back() - 3);
  view.copy_(tensor);
  return view;
}

/// Inputs as the kernel sees them; the same values in float64.
struct Inputs {
  Tensors given, exact;
  uint64_t want = 0;
};

Inputs inputs_of(const OpSpec& spec,
                 const ConformanceCase& tested,
                 at::ScalarType dtype,
                 const ConformanceOptions& options) {
  Inputs inputs;
  const Tensors drawn = tested.make_inputs(dtype, options.seed);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const at::Tensor tensor = i < drawn.size() ? drawn[i] : at::Tensor();
    const bool is_float = tensor.defined() && tensor.is_floating_point();
    at::Tensor given = is_float ? tensor.to(dtype) : tensor;
    if (is_float && options.is_strided) given = with_gaps(given);
    inputs.given.push_back(given);
    inputs.exact.push_back(is_float ? given.to(at::kDouble) : given);
  }
  inputs.want = differentiable_inputs(spec, inputs.given);
  return inputs;
}

double worst_gradient(const Tensors& got, const Tensors& expected) {
  double sum = 0;
  for (const at::Tensor& tensor : expected)
    if (tensor.defined()) sum += std::pow(norm_of(tensor), 2);
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].defined()) continue;
    TITAN_USER_CHECK(i < got.size() && got[i].defined(),
                     "gradient ",
                     i,
                     ": expected one, got none");
    worst = std::max(worst,
                     relative_error(got[i], expected[i], 0.1 * std::sqrt(sum)));
  }
  return worst;
}

bool is_same(const Tensors& a, const Tensors& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].defined() && !at::equal(a[i], b[i])) return false;
  return true;
}

/// What `run` returns on one thread.
template <typename Run>
auto on_one_thread(const Run& run) {
  const int num_threads = at::get_num_threads();
  at::set_num_threads(1);
  auto result = run();
  at::set_num_threads(num_threads);
  return result;
}

/// Outputs of some rows alone have the bits that they have among all rows.
bool is_batch_invariant(const Kernel& kernel,
                        const ForwardCall& call,
                        const Tensors& outputs) {
  const int64_t rows = call.inputs[0].dim() < 2 ? 0 : call.inputs[0].size(0);
  const auto some = [&](const at::Tensor& tensor) {
    const bool has_rows = tensor.defined() && tensor.size(0) == rows;
    return has_rows ? tensor.narrow(0, rows / 2, rows - rows / 2) : tensor;
  };
  if (rows < 2) return true;
  Tensors inputs, expected;
  for (const at::Tensor& input : call.inputs) inputs.push_back(some(input));
  for (const at::Tensor& output : outputs) expected.push_back(some(output));
  return is_same(
      expected,
      kernel.forward({call.attributes, inputs, call.want, 0}).outputs);
}

void compare(const Kernel& kernel,
             const OpSpec& spec,
             const Attributes& attributes,
             const Inputs& inputs,
             ConformanceResult& result) {
  const auto reference = reference_kernel(spec);
  const ForwardCall call{attributes, inputs.given, inputs.want, 0};
  const ForwardResult got = kernel.forward(call);
  const ForwardResult exact =
      reference->forward({attributes, inputs.exact, inputs.want, 0});
  Tensors grad_outputs, exact_grad_outputs;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    result.forward_error =
        std::max(result.forward_error,
                 relative_error(got.outputs[i], exact.outputs[i], 0));
    if (!spec.outputs[i].is_differentiable) {
      grad_outputs.emplace_back();
      exact_grad_outputs.emplace_back();
      continue;
    }
    grad_outputs.push_back(uneven_gradient(got.outputs[i]));
    exact_grad_outputs.push_back(grad_outputs.back().to(at::kDouble));
  }
  const bool is_repeatable =
      (kernel.match().flags & TITAN_KERNEL_DETERMINISTIC) != 0;
  const auto again = [&] { return kernel.forward(call).outputs; };
  if (is_repeatable && !is_same(got.outputs, again()))
    result.problem = "a second forward gives other bits";
  if (is_repeatable && !is_same(got.outputs, on_one_thread(again)))
    result.problem = "forward on one thread gives other bits";
  if ((kernel.match().flags & TITAN_KERNEL_BATCH_INVARIANT) &&
      !is_batch_invariant(kernel, call, got.outputs))
    result.problem = "rows alone give other bits than among others";
  if (!(kernel.match().flags & TITAN_KERNEL_HAS_BACKWARD) || inputs.want == 0)
    return;
  const Tensors kept = kept_inputs(spec, inputs.given);
  const Tensors expected = reference->backward({attributes,
                                                kept_inputs(spec, inputs.exact),
                                                exact.saved,
                                                exact_grad_outputs,
                                                inputs.want,
                                                0});
  const auto gradients = [&](const Tensors& saved) {
    return kernel.backward(
        {attributes, kept, saved, grad_outputs, inputs.want, 0});
  };
  const Tensors first = gradients(got.saved);
  result.backward_error = worst_gradient(first, expected);
  // Twice on one saved set, then on the reference's.
  if (is_repeatable && !is_same(first, gradients(got.saved)))
    result.problem = "a second backward gives other bits";
  const auto again_gradients = [&] { return gradients(got.saved); };
  if (is_repeatable && !is_same(first, on_one_thread(again_gradients)))
    result.problem = "backward on one thread gives other bits";
  result.backward_error = std::max(
      result.backward_error,
      worst_gradient(gradients(reference->forward(call).saved), expected));
}

ConformanceResult check_case(const Kernel& kernel,
                             const OpSpec& spec,
                             const ConformanceCase& tested,
                             at::ScalarType dtype,
                             const ConformanceOptions& options) {
  ConformanceResult result{tested.name, dtype, "", 0, 0, {}, ""};
  result.limit = spec.tolerances.at(dtype);
  try {
    const Attributes attributes =
        bind_attributes(spec, tested.attributes, "[conformance]");
    const Inputs inputs = inputs_of(spec, tested, dtype, options);
    std::vector<TensorMeta> metas;
    for (const at::Tensor& input : inputs.given)
      metas.push_back(TensorMeta::of(input));
    if (kernel.score(metas, attributes, &result.refusal) > 0) {
      result.refusal.clear();
      compare(kernel, spec, attributes, inputs, result);
    } else if (result.refusal.empty()) {
      result.problem = "refuses without saying why";
    }
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
  return result;
}

}  // namespace

std::vector<ConformanceResult> check_kernel(
    const std::shared_ptr<const Kernel>& kernel,
    const ConformanceOptions& options) {
  const OpSpec& spec = find_op(kernel->match().op_id);
  std::vector<ConformanceResult> results;
  for (const auto& [dtype, tolerance] : spec.tolerances) {
    const uint64_t mask = kernel->match().dtype_mask;
    if (mask != 0 && !(mask >> static_cast<int>(dtype) & 1)) continue;
    for (const ConformanceCase& tested : spec.cases()) {
      if (options.on_case)
        options.on_case(
            titan::text('"', tested.name, "\" ", dtype_name(dtype)));
      results.push_back(check_case(*kernel, spec, tested, dtype, options));
    }
  }
  return results;
}

}  // namespace titan::op

// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/non_finite.h"

#include <cmath>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/observe/log.h"

namespace titan::train {
namespace {

// "NaN", "Inf", or empty when all is finite.
std::string kind_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !at::isFloatingType(tensor.scalar_type())) return "";
  if (at::isnan(tensor).any().item<bool>()) return "NaN";
  return at::isinf(tensor).any().item<bool>() ? "Inf" : "";
}

std::string kind_of(double value) {
  return std::isnan(value) ? "NaN" : std::isinf(value) ? "Inf" : "finite";
}

}  // namespace

std::string find_first_non_finite(
    Training& training,
    const std::vector<module::BatchTensors>& microbatches,
    const Counts& counts) {
  std::string found;
  training.engine->clear_gradients();
  for (const parallel::LocalPart& part : training.engine->parts()) {
    const std::string kind = kind_of(training.engine->master(part));
    if (found.empty() && !kind.empty())
      found = text(kind, " in the parameter ", part.parameter->fqn);
  }
  training.executor->set_observer(
      [&](const std::string& fqn, const at::Tensor& output) {
        if (!found.empty()) return;
        const std::string kind = kind_of(output);
        if (!kind.empty()) found = text(kind, " in the output of ", fqn);
      });
  training.executor->set_gradient_observer(
      [&](const module::Parameter& parameter, const at::Tensor& gradient) {
        if (!found.empty()) return;
        const std::string kind = kind_of(gradient);
        if (!kind.empty())
          found = text(kind, " in the gradient of ", parameter.fqn);
      });
  training.executor->train(microbatches, counts);
  training.executor->set_observer(nullptr);
  training.executor->set_gradient_observer(nullptr);
  training.engine->clear_gradients();
  return found;
}

void handle_non_finite(Training& training,
                       const std::vector<module::BatchTensors>& microbatches,
                       const Counts& counts,
                       const StepReport& report,
                       const DataMark& data_before) {
  const bool is_loss = !std::isfinite(report.loss);
  const std::string what =
      is_loss ? text("loss is ", kind_of(report.loss))
              : text("gradient norm is ", kind_of(report.grad_norm));
  std::string where = find_first_non_finite(training, microbatches, counts);
  if (where.empty()) where = "not on this rank";
  const std::string message = text("[step ",
                                   report.step,
                                   "] ",
                                   what,
                                   ": expected a finite number; first seen: ",
                                   where);
  if (!training.options.skips_non_finite) {
    if (training.data != nullptr) training.data->restore(data_before);
    throw NonFiniteError(
        text(message,
             ". The parameters are unchanged. Lower optimizer.config.lr "
             "or training.max_grad_norm, or set training.non_finite: skip."));
  }
  log::warn(text(message, ". Skipped."));
}

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/validation.h"

#include <limits>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/observe/spans.h"

namespace titan::train {

double mean_loss(double loss_sum, int64_t num_targets) {
  return num_targets == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : loss_sum / static_cast<double>(num_targets);
}

ValidationReport validate(Training& training, int64_t max_batches) {
  TITAN_CHECK(training.validation != nullptr,
              "[validation] asked for without a validation split");
  const Span span("validation");
  training.validation->rewind();
  // float64 holds counts up to 2^53 exactly, so one tensor carries both.
  at::Tensor sums = at::zeros({2}, at::kDouble);
  Microbatch host;
  for (int64_t i = 0; i != max_batches && training.validation->next(host);
       ++i) {
    sums[0] += training.executor->evaluate(to_tensors(host));
    if (training.mesh.coordinate("pp") + 1 == training.mesh.size("pp"))
      sums[1] += static_cast<double>(host.n_valid);
  }
  if (training.mesh.size("dp") > 1) training.mesh.group("dp").all_reduce(sums);
  if (training.mesh.size("pp") > 1) training.mesh.group("pp").all_reduce(sums);
  ValidationReport report;
  report.num_targets = static_cast<int64_t>(sums[1].item<double>());
  report.loss = mean_loss(sums[0].item<double>(), report.num_targets);
  return report;
}

}  // namespace titan::train

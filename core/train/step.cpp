// SPDX-License-Identifier: BSD-3-Clause
// One optimizer step, phase by phase.
//
// The loss is a sum over valid tokens divided by the count of valid tokens of
// the whole step (all microbatches, all data ranks). The count is reduced
// before the first backward, so gradient accumulation, data, context and
// pipeline parallelism never change loss or gradients; a mean of per-batch
// means would.
#include "core/train/step.h"

#include <cmath>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/observe/spans.h"
#include "core/train/non_finite.h"
#include "core/train/step_loss.h"

namespace titan::train {
namespace {

// Data ranks whose lanes have not all ended.
constexpr const char* kRanksWithData = "ranks_with_data";

StepBatch load_microbatches(Training& training) {
  const Span span("data");
  StepBatch batch;
  Microbatch host;
  for (int64_t i = 0; i < training.options.microbatches; ++i) {
    training.data->next(host);
    batch.add(host);
  }
  batch.has_more = !training.data->has_ended();
  return batch;
}

// torch.nn.utils.clip_grad_norm_: max / (norm + 1e-6), at most 1.
double clip_scale(double norm, double max_norm) {
  return max_norm == 0.0 ? 1.0 : std::fmin(1.0, max_norm / (norm + 1e-6));
}

void update(Training& training, const StepReport& report) {
  if (training.before_update) training.before_update();
  const Span span("optimizer");
  const double scale =
      clip_scale(report.grad_norm, training.options.max_grad_norm);
  training.optimizer->step(
      report.lr, report.step, at::scalar_tensor(scale, at::kDouble));
  if (training.ema) training.ema->update(report.step);
  training.engine->invalidate();
  training.engine->buffers().commit(training.mesh);
  training.executor->after_step();
}

void count_steps_without_targets(Training& training, const StepReport& report) {
  if (report.outcome != StepOutcome::kNoTargets) {
    training.steps_without_targets = 0;
    return;
  }
  ++training.steps_without_targets;
  TITAN_USER_CHECK(
      training.steps_without_targets < training.options.zero_target_steps_limit,
      "[training.zero_target_steps_limit] tokens with a target: expected some, "
      "got none in ",
      training.steps_without_targets,
      " steps in a row. Every label is masked: look at `titan data inspect`.");
}

}  // namespace

void StepBatch::add(const Microbatch& microbatch) {
  num_targets += microbatch.n_valid;
  microbatches.push_back(to_tensors(microbatch));
}

StepReport train_step(Training& training, int64_t step) {
  const DataMark data_before = training.data->mark();
  return train_step_on(
      training, step, load_microbatches(training), data_before);
}

StepReport train_step_on(Training& training,
                         int64_t step,
                         StepBatch batch,
                         const DataMark& data_before) {
  StepReport report;
  report.step = step + 1;
  report.lr = training.optimizer->base_lr() * training.schedule.factor(step);

  Counts counts = count_batches(batch.microbatches, batch.num_targets);
  counts[kRanksWithData] = batch.has_more ? 1 : 0;
  all_reduce_counts(counts, training.mesh);
  report.num_tokens = static_cast<int64_t>(counts.at("all_tokens"));
  report.num_targets = static_cast<int64_t>(counts.at("tokens"));

  if (report.num_targets == 0 && counts.at(kRanksWithData) == 0) {
    training.data->restore(data_before);
    report.outcome = StepOutcome::kEndOfData;
    return report;
  }
  if (report.num_targets == 0) {
    report.outcome = StepOutcome::kNoTargets;
  } else {
    const parallel::StageResult result =
        training.executor->train(batch.microbatches, counts);
    training.engine->finish_gradients();

    const StepLoss loss = all_reduce_losses(result, counts, training.mesh);
    report.loss = loss.total;
    report.main_loss = loss.main;
    report.added_losses = loss.added;
    report.grad_norm =
        std::sqrt(training.engine->squared_gradient_norm().item<double>());
    for (const auto& [name, value] : result.metrics)
      report.metrics[name] = value.item<double>();

    if (std::isfinite(report.loss) && std::isfinite(report.grad_norm)) {
      update(training, report);
      training.last_loss = report.loss;
    } else {
      report.outcome = StepOutcome::kSkipped;
      handle_non_finite(
          training, batch.microbatches, counts, report, data_before);
      ++training.skipped_steps;
    }
    training.engine->clear_gradients();
  }

  count_steps_without_targets(training, report);
  training.tokens_seen += report.num_tokens;
  training.steps_done = report.step;
  return report;
}

}  // namespace titan::train

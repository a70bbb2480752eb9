// SPDX-License-Identifier: BSD-3-Clause
// Legend: T tokens of a microbatch, S its segments.
#include "core/train/memory_estimate.h"

#include <algorithm>

#include <ATen/ATen.h>

#include <titan/text.h>

#include "core/dispatch/fake_run.h"
#include "core/observe/machine.h"
#include "core/train/assemble.h"
#include "core/train/step_loss.h"

namespace titan::train {
namespace {

using dispatch::FakeRun;
using dispatch::Pool;

// Two show what accumulation adds; a pipeline's first stage keeps as many in
// flight as it has stages.
int64_t microbatches_needed(const parallel::MeshShape& shape) {
  return 2 * shape.pp;
}

module::BatchTensors fake_batch(FakeRun& run, int64_t tokens, int64_t seq_len) {
  module::BatchTensors batch;
  batch.tokens = run.empty({tokens}, at::kLong);
  batch.labels = run.empty({tokens}, at::kLong);
  batch.loss_weight = run.empty({tokens}, at::kFloat);
  batch.doc_id = run.empty({tokens}, at::kInt);
  batch.cu_seqlens = run.empty({tokens / seq_len + 1}, at::kInt);
  batch.positions = run.empty({tokens}, at::kInt);
  batch.global_index = run.empty({tokens}, at::kLong);
  return batch;
}

int64_t gradient_bytes(const parallel::ParameterEngine& engine) {
  int64_t bytes = 0;
  for (const parallel::LocalPart& part : engine.parts())
    if (const at::Tensor gradient = engine.gradient(part); gradient.defined())
      bytes += static_cast<int64_t>(gradient.numel()) *
               static_cast<int64_t>(gradient.element_size());
  return bytes;
}

}  // namespace

MemoryEstimate estimate_memory(Session& session,
                               const parallel::MeshShape& shape) {
  const config::Recipe& recipe = session.recipe();
  dist::Mesh mesh = dist::fake_mesh({{"pp", shape.pp},
                                     {"dp_replicate", shape.dp_replicate},
                                     {"dp_shard", shape.dp_shard},
                                     {"cp", shape.cp},
                                     {"tp", shape.tp}});
  FakeRun run;
  const dispatch::ModeGuard guard(run);
  run.set_pool(Pool::kParameters);
  Training training(mesh);
  const int64_t limit = microbatches_needed(shape);
  assemble_model(training, session, limit);
  run.set_pool(Pool::kActivations);

  const int64_t count = std::min(training.options.microbatches, limit);
  std::vector<module::BatchTensors> batches;
  for (int64_t i = 0; i < count; ++i)
    batches.push_back(fake_batch(
        run, tokens_per_microbatch(recipe), training.options.seq_len));
  run.reset_peak();
  training.executor->train(batches, count_batches(batches, 1));
  training.engine->finish_gradients();

  const dispatch::FakeRunReport report = run.report();
  MemoryEstimate estimate;
  estimate.forward_backward_flops = report.flops / static_cast<double>(count);
  estimate.optimizer = training.optimizer->bytes_states() +
                       (training.ema ? training.ema->bytes() : 0);
  // States were made in the parameters' pool, with the rest of the assembly.
  estimate.parameters =
      report.at_peak_by_pool[static_cast<size_t>(Pool::kParameters)] -
      estimate.optimizer;
  estimate.gradients = gradient_bytes(*training.engine);
  estimate.activations =
      std::max<int64_t>(0,
                        report.peak_bytes - estimate.parameters -
                            estimate.optimizer - estimate.gradients);
  return estimate;
}

std::string describe(const MemoryEstimate& estimate,
                     const MemoryFacts& machine,
                     int64_t num_ranks) {
  return text("parameters ",
              format_bytes(estimate.parameters),
              ", gradients ",
              format_bytes(estimate.gradients),
              ", optimizer ",
              format_bytes(estimate.optimizer),
              ", activations ",
              format_bytes(estimate.activations),
              ", total ",
              format_bytes(estimate.total()),
              num_ranks > 1 ? text(" x ", num_ranks, " ranks") : std::string(),
              "; machine has ",
              format_bytes(machine.available_bytes),
              " available of ",
              format_bytes(machine.total_bytes));
}

bool fits(const MemoryEstimate& estimate,
          const MemoryFacts& machine,
          int64_t num_ranks) {
  return estimate.total() <= machine.available_bytes / num_ranks;
}

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// The loss that a step reports: what the head gave over the step's valid tokens
// plus what the model added (ctx.add_loss), each over its own global count. It
// is what the gradients are of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/dist/mesh.h"
#include "core/module/context.h"
#include "core/parallel/executor.h"

namespace titan::train {

/// Named counts that losses are divided by.
using Counts = std::map<std::string, double>;

/// Of these microbatches: tokens (with a target), all_tokens, segments,
/// microbatches, and what the batches themselves count.
Counts count_batches(const std::vector<module::BatchTensors>& microbatches,
                     int64_t num_targets);

/// Sums over data ranks. Collective over dp; every rank has the same names.
void all_reduce_counts(Counts& counts, const dist::Mesh& mesh);

struct StepLoss {
  double total = 0;
  double main = 0;                      // the head's
  std::map<std::string, double> added;  // by name, already divided
};

/// Collective over the world: stages hold different losses.
StepLoss all_reduce_losses(const parallel::StageResult& result,
                           const Counts& counts,
                           const dist::Mesh& mesh);

}  // namespace titan::train

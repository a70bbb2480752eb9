// SPDX-License-Identifier: BSD-3-Clause
// One optimizer step. step.cpp is the showpiece: it reads top to bottom.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <titan/error.h>

#include "core/data/batch.h"
#include "core/train/training.h"

namespace titan::train {

enum class StepOutcome {
  kUpdated,
  kNoTargets,  // no token to predict anywhere: nothing to learn from
  kSkipped,    // not finite, and the recipe says skip
  kEndOfData,  // all epochs are done: there was no step
};

struct StepReport {
  int64_t step = 0;        // 1-based: the step that this was
  double loss = 0;         // what was trained on: main and added losses
  double main_loss = 0;    // the head's mean over the step's valid tokens
  double grad_norm = 0;    // before clipping
  double lr = 0;           // of group 0
  int64_t num_tokens = 0;  // over all data ranks
  int64_t num_targets = 0;
  StepOutcome outcome = StepOutcome::kUpdated;
  std::map<std::string, double> added_losses;  // by name; terms of `loss`
  std::map<std::string, double> metrics;       // of the model
};

/// The loss or the gradient norm is not finite and the recipe says stop. The
/// parameters are those before the step.
class NonFiniteError : public UserError {
 public:
  using UserError::UserError;
};

/// This rank's microbatches of one step, with its targets.
struct StepBatch {
  std::vector<module::BatchTensors> microbatches;
  int64_t num_targets = 0;
  bool has_more = true;  // data behind this step

  void add(const Microbatch& microbatch);
};

/// Trains on the next microbatches; `step` is 0-based. Collective over the
/// mesh. Throws NonFiniteError (see non_finite.h) and data errors. Where every
/// lane of every rank has ended and no target was left, nothing changes and
/// the outcome is kEndOfData.
StepReport train_step(Training& training, int64_t step);

/// The same on a batch that is there already (benchmarks). `data_before` is the
/// data's position to replay the step from.
StepReport train_step_on(Training& training,
                         int64_t step,
                         StepBatch batch,
                         const DataMark& data_before);

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// Loss over the validation split: one sum over all valid tokens divided by
// their count, never a mean of batch means.
#pragma once

#include <cstdint>

#include "core/train/training.h"

namespace titan::train {

struct ValidationReport {
  double loss = 0;  // nats per token
  int64_t num_targets = 0;
};

/// At most `max_batches` microbatches per rank (-1: the whole split), from its
/// start. Collective over the mesh. The training state is untouched.
ValidationReport validate(Training& training, int64_t max_batches);

/// sum / count of several batches: (2, 1) and (90, 9) give 9.2.
double mean_loss(double loss_sum, int64_t num_targets);

}  // namespace titan::train

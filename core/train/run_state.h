// SPDX-License-Identifier: BSD-3-Clause
// A run's state out of a checkpoint, so that a resumed run is bit-identical to
// an uninterrupted one, under the same or another layout: each rank reads the
// boxes that it holds, whoever wrote them. Saving: run_saver.h; weights alone:
// weights.h.
#pragma once

#include "core/checkpoint/checkpoint_reader.h"
#include "core/train/training.h"

namespace titan::train {

/// Restores parameters, optimizer states, data position and counters. UserError
/// when the checkpoint is of another model (every difference is listed) or
/// holds the model only.
void restore_run(Training& training,
                 const checkpoint::CheckpointReader& reader);

}  // namespace titan::train

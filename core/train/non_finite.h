// SPDX-License-Identifier: BSD-3-Clause
// What happens when a loss or a gradient norm is NaN or infinite: find where it
// first appeared, say so, and stop or skip as the recipe says.
#pragma once

#include <string>
#include <vector>

#include "core/module/context.h"
#include "core/train/step.h"
#include "core/train/step_loss.h"

namespace titan::train {

/// Runs the step's forward and backward once more with every op's output and
/// every parameter's gradient watched; the parameters are those of the step, so
/// the run is the same. Collective over the mesh. "NaN in the output of
/// layers.3.attention.inner (microbatch 1)", or of which gradient.
std::string find_first_non_finite(
    Training& training,
    const std::vector<module::BatchTensors>& microbatches,
    const Counts& counts);

/// Throws NonFiniteError unless the recipe skips; the data then stands at
/// `data_before` again, so that a checkpoint saved now replays the step.
/// Collective over the mesh.
void handle_non_finite(Training& training,
                       const std::vector<module::BatchTensors>& microbatches,
                       const Counts& counts,
                       const StepReport& report,
                       const DataMark& data_before);

}  // namespace titan::train

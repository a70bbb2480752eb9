// SPDX-License-Identifier: BSD-3-Clause
// How much memory a step of a recipe takes on rank 0, found by a fake run of
// the very code that trains: a 405B model takes seconds and no memory.
#pragma once

#include <cstdint>
#include <string>

#include "core/observe/cores.h"
#include "core/parallel/plan.h"
#include "core/train/session.h"

namespace titan::train {

/// Bytes of one rank at the moment of a step when it needs most. Not in it: the
/// process itself (LibTorch, plugins: about 200 MB), the data, and what kernels
/// hold inside themselves for a moment (3% of the debug model's peak at most).
struct MemoryEstimate {
  int64_t parameters = 0;   // masters, and copies in the compute dtype
  int64_t gradients = 0;    // of the whole step, as the optimizer sees them
  int64_t optimizer = 0;    // states, and the averages of weights
  int64_t activations = 0;  // all the rest: saved tensors, workspace, batch
  double forward_backward_flops = 0;  // of one microbatch, this rank

  int64_t total() const {
    return parameters + gradients + optimizer + activations;
  }
};

/// UserError as assemble() gives them. dispatch::NoFakeResult for a model whose
/// shapes depend on values.
MemoryEstimate estimate_memory(Session& session,
                               const parallel::MeshShape& shape);

/// "parameters 24 MiB, ..., total 1.2 GiB; machine has ...".
/// `num_ranks`: of this machine, where more than one share its memory.
std::string describe(const MemoryEstimate& estimate,
                     const MemoryFacts& machine,
                     int64_t num_ranks = 1);

/// Does it fit into what is available?
bool fits(const MemoryEstimate& estimate,
          const MemoryFacts& machine,
          int64_t num_ranks = 1);

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// What differs between two checkpoints, however each was sharded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_reader.h"

namespace titan::checkpoint {

struct TensorDifference {
  std::string role;
  std::string name;
  /// Empty when only values differ; otherwise "only in A", or both types.
  std::string reason;
  std::int64_t num_elements = 0;
  std::int64_t num_different = 0;  // elements whose bits differ
  double max_abs = 0;              // infinite for NaN against a number
  double relative_norm = 0;        // |a - b| / |b| in 2-norms
};

struct CheckpointDifference {
  std::int64_t num_equal = 0;             // tensors, bit for bit
  std::vector<TensorDifference> tensors;  // that differ, worst first
  std::vector<std::string> state_parts;   // "trainer", "recipe", ...

  bool is_empty() const { return tensors.empty() && state_parts.empty(); }
};

/// Holds one tensor of each in memory at a time.
CheckpointDifference compare_checkpoints(const CheckpointReader& a,
                                         const CheckpointReader& b);

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Rules between keys of the core's sections. The batch rule is public, because
// the data-parallel degree may be known only when the ranks are.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/recipe.h"

namespace titan::config {

/// Sizes of a step with every `null` resolved.
struct BatchSizes {
  std::int64_t tokens_per_microbatch;
  std::int64_t tokens_per_step;
  std::int64_t microbatches;  ///< per data-parallel rank
};

/// Returns the sizes of a step for `data_parallel_degree` (dp_replicate x
/// dp_shard) ranks. UserError if the numbers do not divide: a batch is never
/// silently another one than the recipe says.
BatchSizes resolve_batch_sizes(const Recipe& recipe,
                               std::int64_t data_parallel_degree);

void add_core_rules(SchemaRegistry& registry);

}  // namespace titan::config

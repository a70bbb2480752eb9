// SPDX-License-Identifier: BSD-3-Clause
// Says what reading the data found: bad records when they are met, everything
// that was left out once more at the end.
#pragma once

#include "core/data/stream.h"

namespace titan::train {

/// Of one rank; each rank reads lanes of its own.
class DataLog {
 public:
  /// Warns of bad records that are new since the last call.
  void update(const DataStream& data);
  /// Warns with the counts of what was not trained on, where there is any;
  /// before that, what the mappers made of the records.
  void finish(const DataStream& data);

 private:
  size_t num_shown_ = 0;
};

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// What reading found: records used, passed over, bad. One per stream, written
// by all its threads; the policy for bad records is here.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/data/record.h"

namespace titan {

class Dataset;

enum class OnBadRecord { kError, kSkip };

/// Returns the policy that `name` ("error" or "skip") stands for; UserError
/// otherwise.
OnBadRecord parse_on_bad_record(const std::string& name);

/// Counts of what this process has read. A record that is read again, in
/// another epoch, counts again, except among the bad ones.
struct ReadCounts {
  int64_t num_records = 0;
  int64_t num_blank_lines = 0;
  int64_t num_empty_records = 0;
  int64_t num_bad_records = 0;     ///< Each once.
  int64_t num_truncated = 0;       ///< Samples longer than a row.
  int64_t num_dropped = 0;         ///< The same, left out.
  int64_t num_without_target = 0;  ///< Samples that nothing is learnt from.
  std::vector<std::string> first_bad_records;  ///< At most five messages.
};

/// Any thread may call.
class ReadReport {
 public:
  explicit ReadReport(OnBadRecord policy) : policy_(policy) {}

  /// Throws UserError "file:line: [data] what" or counts, as the policy says.
  void add_bad(const Dataset& dataset,
               const RecordPlace& place,
               const std::string& what);
  /// Adds `amount` to one of the counts.
  void count(int64_t ReadCounts::*which, int64_t amount = 1);
  ReadCounts counts() const;

 private:
  OnBadRecord policy_;
  mutable std::mutex mutex_;
  ReadCounts counts_;
  std::unordered_set<uint64_t> bad_places_;
};

}  // namespace titan

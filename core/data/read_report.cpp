// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/read_report.h"

#include "core/data/dataset.h"
#include "core/data/hash.h"

namespace titan {

OnBadRecord parse_on_bad_record(const std::string& name) {
  if (name == "error") return OnBadRecord::kError;
  TITAN_USER_CHECK(
      name == "skip", "[data.on_bad_line] expected error or skip, got ", name);
  return OnBadRecord::kSkip;
}

void ReadReport::add_bad(const Dataset& dataset,
                         const RecordPlace& place,
                         const std::string& what) {
  constexpr size_t kMaxMessages = 5;
  constexpr size_t kMaxPlaces = 1 << 20;  // Beyond, epochs count again.
  if (policy_ == OnBadRecord::kError)
    throw UserError(text(dataset.describe(place),
                         ": [data] ",
                         what,
                         ". Repair it or set data.on_bad_line: skip"));
  const uint64_t key = combine_hash(
      combine_hash(dataset.fingerprint(), static_cast<uint64_t>(place.file)),
      static_cast<uint64_t>(place.offset));
  const std::lock_guard lock(mutex_);
  if (bad_places_.size() < kMaxPlaces && !bad_places_.insert(key).second)
    return;
  ++counts_.num_bad_records;
  if (counts_.first_bad_records.size() < kMaxMessages)
    counts_.first_bad_records.push_back(
        text(dataset.describe(place), ": [data] ", what));
}

void ReadReport::count(int64_t ReadCounts::*which, int64_t amount) {
  const std::lock_guard lock(mutex_);
  counts_.*which += amount;
}

ReadCounts ReadReport::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace titan

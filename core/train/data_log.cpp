// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/data_log.h"

#include <titan/text.h>

#include "core/observe/log.h"

namespace titan::train {

void DataLog::update(const DataStream& data) {
  const ReadCounts counts = data.counts();
  for (; num_shown_ < counts.first_bad_records.size(); ++num_shown_)
    log::warn(text(counts.first_bad_records[num_shown_], ". Skipped."));
}

void DataLog::finish(const DataStream& data) {
  update(data);
  for (const std::string& line : data.describe_mapped()) log::info(line);
  const ReadCounts counts = data.counts();
  std::string left_out;
  const auto add = [&](int64_t count, const char* what) {
    if (count == 0) return;
    left_out += text(left_out.empty() ? "" : ", ", count, ' ', what);
  };
  add(counts.num_bad_records, "bad records");
  add(counts.num_empty_records, "empty documents");
  add(counts.num_dropped, "samples longer than a row");
  add(counts.num_without_target, "samples without a target");
  add(counts.num_truncated, "ends of samples longer than a row");
  if (!left_out.empty())
    log::warn(text("data left out, of ",
                   counts.num_records,
                   " records read (rows read ahead included): ",
                   left_out));
}

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// The fan-out. Sinks are isolated from each other: enabling two once meant
// that only one logged (pytorch/torchtitan PR 1698).
#include "core/observe/metrics.h"

#include <exception>

#include <titan/text.h>

#include "core/observe/log.h"

namespace titan {

void MetricRecord::add(std::string name, double value) {
  values.emplace_back(std::move(name), value);
}

std::optional<double> MetricRecord::find(std::string_view name) const {
  for (const auto& [known, value] : values) {
    if (known == name) return value;
  }
  return std::nullopt;
}

void MetricSinks::add(std::unique_ptr<MetricSink> sink) {
  sinks_.push_back({std::move(sink)});
}

void MetricSinks::write(const MetricRecord& record) {
  for (Entry& entry : sinks_) {
    call(entry, [&](MetricSink& sink) { sink.write(record); });
  }
}

void MetricSinks::flush() {
  for (Entry& entry : sinks_) {
    call(entry, [](MetricSink& sink) { sink.flush(); });
  }
}

void MetricSinks::call(Entry& entry,
                       const std::function<void(MetricSink&)>& action) {
  std::string reason = "an exception of unknown type";
  try {
    action(*entry.sink);
    return;
  } catch (const std::exception& problem) {
    reason = problem.what();
  } catch (...) {
    // A plugin's sink may throw anything; `reason` already says so.
  }
  if (entry.num_failures++ > 0) return;
  log::warn(text("[metrics ",
                 entry.sink->name(),
                 "] a record was not written: ",
                 reason,
                 ". Training goes on; further records are still tried and "
                 "this warning is not repeated."));
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// The window. Kept apart from spans.cpp: recording knows nothing of steps.
#include "core/observe/profiler.h"

#include <exception>
#include <utility>

#include <titan/text.h>

#include "core/observe/log.h"
#include "core/observe/spans.h"

namespace titan {

Profiler::Profiler(ProfilerOptions options) : options_(std::move(options)) {}

Profiler::~Profiler() {
  finish();
}

void Profiler::begin_step(int64_t step) {
  const bool is_in_window = options_.num_steps > 0 && !is_done_ &&
                            step >= options_.start_step &&
                            step - options_.start_step < options_.num_steps;
  if (!is_in_window) return;
  if (!is_recording_) {
    collect_spans();  // leaves out what an earlier window did not write
    enable_spans(true);
    is_recording_ = true;
  }
  set_span_step(step);
}

void Profiler::end_step(int64_t step) {
  if (step - options_.start_step >= options_.num_steps - 1) finish();
}

void Profiler::finish() {
  if (!is_recording_) return;
  is_recording_ = false;
  is_done_ = true;
  enable_spans(false);
  try {
    write();
  } catch (const std::exception& problem) {
    log::warn(text("[profiler] the trace was not written: ", problem.what()));
  }
}

void Profiler::write() {
  const CollectedSpans spans = collect_spans();
  const int rank = log::rank();
  const std::string suffix = rank > 0 ? text(".rank", rank) : "";
  const auto trace_path = options_.folder / text("trace", suffix, ".json");
  table_ = span_table(spans.events);
  write_chrome_trace(spans, trace_path);
  write_span_lines(spans, options_.folder / text("spans", suffix, ".jsonl"));
  log::info(text("[profiler] wrote ",
                 trace_path.string(),
                 " (open it in ui.perfetto.dev)"));
  if (spans.num_overwritten > 0) {
    log::warn(
        text("[profiler] rings were too small: expected every event, "
             "lost the oldest ",
             spans.num_overwritten,
             ". Profile fewer steps."));
  }
}

}  // namespace titan

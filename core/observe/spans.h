// SPDX-License-Identifier: BSD-3-Clause
// Spans: what ran when, on which rank and thread. Off, a span costs one
// relaxed load; on, it takes two clock reads and a slot in the thread's ring,
// without allocation, and the oldest are overwritten. Written as a Chrome
// trace (ui.perfetto.dev, chrome://tracing: rank = process, thread = thread)
// and as JSON lines. Read next: profiler.h, which turns them on for some steps.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// Keys and names must live as long as the process: literals, or
/// `intern_span_name`.
struct SpanArgument {
  const char* key = nullptr;
  int64_t value = 0;
};

enum class SpanKind : uint8_t { kSpan, kInstant, kCounter };

struct SpanEvent {
  static constexpr size_t kMaxArguments = 3;  ///< further ones are dropped

  const char* name = nullptr;
  SpanKind kind = SpanKind::kSpan;
  bool is_error = false;  ///< left by an exception
  uint8_t num_arguments = 0;
  int32_t rank = 0;
  int32_t thread = 0;  ///< small number, in order of first use
  int64_t step = -1;   ///< of `set_span_step`
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t self_ns = 0;  ///< without the spans inside it on the same thread
  std::array<SpanArgument, kMaxArguments> arguments{};
};

namespace detail {
extern std::atomic<bool> spans_are_on;
}

inline bool spans_enabled() {
  return detail::spans_are_on.load(std::memory_order_relaxed);
}

/// Turns recording on or off for all threads. Spans that are open when it
/// changes are recorded if they began while it was on.
void enable_spans(bool on);

/// Covers its scope: `Span span("forward", {{"item", 3}});`. Must end on the
/// thread that began it, innermost first.
class Span {
 public:
  explicit Span(const char* name,
                std::initializer_list<SpanArgument> arguments = {}) {
    if (spans_enabled()) [[unlikely]]
      begin(name, arguments);
  }
  ~Span() {
    if (is_open_) [[unlikely]]
      end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void begin(const char* name, std::initializer_list<SpanArgument> arguments);
  void end() noexcept;

  bool is_open_ = false;
};

/// Marks a moment: "training started", "loss spike".
void record_instant(const char* name,
                    std::initializer_list<SpanArgument> arguments = {});

/// Records a value over time, drawn as a curve: bytes in use, queue length.
void record_counter(const char* name, int64_t value);

/// Notes the training step of the calling thread in what it records next.
void set_span_step(int64_t step);

/// Names the calling thread in the trace: "loader 2".
void set_span_thread_name(std::string_view name);

/// A copy of `name` that lives as long as the process; the same text gives the
/// same pointer. Takes a lock: call once per site, not per span.
const char* intern_span_name(std::string_view name);

struct CollectedSpans {
  std::vector<SpanEvent> events;          ///< by start time
  std::vector<std::string> thread_names;  ///< by SpanEvent::thread
  int64_t num_overwritten = 0;            ///< lost because a ring was full
};

/// Takes what all threads recorded since the last call. Any thread may call
/// it while others record.
CollectedSpans collect_spans();

/// Writes the Chrome trace; DeviceError if the disk refuses.
void write_chrome_trace(const CollectedSpans& spans,
                        const std::filesystem::path& path);

/// Writes one JSON object per event.
void write_span_lines(const CollectedSpans& spans,
                      const std::filesystem::path& path);

/// A table by name: count, total and self milliseconds, largest self first.
std::string span_table(const std::vector<SpanEvent>& events);

}  // namespace titan

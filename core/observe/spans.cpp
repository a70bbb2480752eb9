// SPDX-License-Identifier: BSD-3-Clause
// Recording. Each thread has a ring and a stack of open spans; the ring
// outlives its thread, since a trace is written after workers have gone. The
// ring's lock is only ever contended by `collect_spans`.
#include "core/observe/spans.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <titan/text.h>

#include "core/observe/log.h"

namespace titan {

namespace detail {
std::atomic<bool> spans_are_on{false};
}

namespace {

// 112 bytes each, so 3.5 MiB per recording thread: 30 steps of a model with
// 1000 spans per step.
constexpr size_t kRingCapacity = size_t{1} << 15;

int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

struct Ring {
  std::mutex mutex;
  std::vector<SpanEvent> events;
  size_t oldest = 0;  // where the next event goes once the ring is full
  int64_t num_overwritten = 0;
  std::string thread_name;

  void push(const SpanEvent& event) {
    const std::lock_guard lock(mutex);
    if (events.size() < kRingCapacity) {
      events.push_back(event);
      return;
    }
    events[oldest] = event;
    oldest = (oldest + 1) % kRingCapacity;
    ++num_overwritten;
  }
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Ring>> rings;  // index = SpanEvent::thread
  std::set<std::string, std::less<>> names;
};

// Never destroyed: threads may record while the process exits.
Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

// Outside the recorder: a thread that only sets its step needs no ring.
thread_local int64_t thread_step = -1;

struct OpenSpan {
  SpanEvent event;
  int64_t inner_ns = 0;
  int num_exceptions = 0;
};

struct ThreadRecorder {
  std::shared_ptr<Ring> ring = std::make_shared<Ring>();
  std::vector<OpenSpan> open;
  int32_t thread = 0;

  ThreadRecorder() {
    ring->events.reserve(kRingCapacity);
    open.reserve(64);
    const std::lock_guard lock(registry().mutex);
    thread = static_cast<int32_t>(registry().rings.size());
    ring->thread_name = text("thread ", thread);
    registry().rings.push_back(ring);
  }
};

ThreadRecorder& recorder() {
  thread_local ThreadRecorder instance;
  return instance;
}

SpanEvent new_event(const char* name,
                    SpanKind kind,
                    std::initializer_list<SpanArgument> arguments) {
  SpanEvent event;
  event.name = name;
  event.kind = kind;
  event.rank = log::rank();
  event.thread = recorder().thread;
  event.step = thread_step;
  const size_t count = std::min(arguments.size(), SpanEvent::kMaxArguments);
  std::copy_n(arguments.begin(), count, event.arguments.begin());
  event.num_arguments = static_cast<uint8_t>(count);
  event.start_ns = now_ns();
  return event;
}

}  // namespace

void enable_spans(bool on) {
  detail::spans_are_on.store(on, std::memory_order_relaxed);
}

void Span::begin(const char* name,
                 std::initializer_list<SpanArgument> arguments) {
  recorder().open.push_back({new_event(name, SpanKind::kSpan, arguments),
                             0,
                             std::uncaught_exceptions()});
  is_open_ = true;
}

void Span::end() noexcept {
  ThreadRecorder& at = recorder();
  OpenSpan span = at.open.back();
  at.open.pop_back();
  span.event.duration_ns = now_ns() - span.event.start_ns;
  span.event.self_ns = span.event.duration_ns - span.inner_ns;
  span.event.is_error = std::uncaught_exceptions() > span.num_exceptions;
  if (!at.open.empty()) at.open.back().inner_ns += span.event.duration_ns;
  at.ring->push(span.event);
}

void record_instant(const char* name,
                    std::initializer_list<SpanArgument> arguments) {
  if (!spans_enabled()) return;
  recorder().ring->push(new_event(name, SpanKind::kInstant, arguments));
}

void record_counter(const char* name, int64_t value) {
  if (!spans_enabled()) return;
  recorder().ring->push(
      new_event(name, SpanKind::kCounter, {{"value", value}}));
}

void set_span_step(int64_t step) {
  thread_step = step;
}

void set_span_thread_name(std::string_view name) {
  Ring& ring = *recorder().ring;
  const std::lock_guard lock(ring.mutex);
  ring.thread_name.assign(name);
}

const char* intern_span_name(std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  return registry().names.emplace(name).first->c_str();
}

CollectedSpans collect_spans() {
  CollectedSpans out;
  const std::lock_guard lock(registry().mutex);
  for (const auto& ring : registry().rings) {
    const std::lock_guard ring_lock(ring->mutex);
    out.events.insert(
        out.events.end(), ring->events.begin(), ring->events.end());
    out.num_overwritten += std::exchange(ring->num_overwritten, 0);
    out.thread_names.push_back(ring->thread_name);
    ring->events.clear();  // keeps the reserved capacity
    ring->oldest = 0;
  }
  std::stable_sort(out.events.begin(),
                   out.events.end(),
                   [](const SpanEvent& a, const SpanEvent& b) {
                     return a.start_ns < b.start_ns;
                   });
  return out;
}

}  // namespace titan

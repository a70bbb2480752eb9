// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/spans.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/observe/log.h"
#include "tests/unit/core/observe/scratch_folder.h"

using titan::Span;
using titan::SpanEvent;
using titan::SpanKind;

namespace {

// Records while it lives, from an empty start.
class Recording {
 public:
  Recording() {
    titan::collect_spans();
    titan::enable_spans(true);
  }
  ~Recording() { titan::enable_spans(false); }
};

const SpanEvent& find(const std::vector<SpanEvent>& events,
                      std::string_view name) {
  const auto found =
      std::find_if(events.begin(), events.end(), [&](const SpanEvent& event) {
        return event.name == name;
      });
  REQUIRE(found != events.end());
  return *found;
}

void spin_for(std::chrono::microseconds time) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < time) {
    // Busy on purpose: the span must last.
  }
}

}  // namespace

TEST_CASE("spans that are off record nothing", "[unit]") {
  titan::collect_spans();
  {
    const Span span("off", {{"item", 1}});
    titan::record_instant("off");
    titan::record_counter("off", 1);
  }
  CHECK(titan::collect_spans().events.empty());
}

TEST_CASE("a nested span's time is not its parent's own", "[unit]") {
  const Recording recording;
  titan::set_span_step(12);
  {
    const Span outer("outer");
    spin_for(std::chrono::microseconds(200));
    const Span inner("inner", {{"item", 3}, {"rows", 7}});
    spin_for(std::chrono::microseconds(300));
  }
  titan::set_span_step(-1);
  const auto events = titan::collect_spans().events;
  REQUIRE(events.size() == 2);
  const SpanEvent& outer = find(events, "outer");
  const SpanEvent& inner = find(events, "inner");
  CHECK(inner.duration_ns >= 300'000);
  CHECK(inner.self_ns == inner.duration_ns);
  CHECK(outer.self_ns == outer.duration_ns - inner.duration_ns);
  CHECK(outer.self_ns >= 200'000);
  CHECK(inner.step == 12);
  REQUIRE(inner.num_arguments == 2);
  CHECK(inner.arguments[1].value == 7);
  CHECK(events[0].name == std::string("outer"));  // by start time
}

TEST_CASE("a span left by an exception says so", "[unit]") {
  const Recording recording;
  try {
    const Span span("broken");
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
    const Span span("cleanup");
  }
  const auto events = titan::collect_spans().events;
  CHECK(find(events, "broken").is_error);
  CHECK(!find(events, "cleanup").is_error);
}

TEST_CASE("a span that began while on is recorded though off at its end",
          "[unit]") {
  titan::collect_spans();
  titan::enable_spans(true);
  {
    const Span begun_on("begun on");
    titan::enable_spans(false);
    const Span begun_off("begun off");
  }
  const auto events = titan::collect_spans().events;
  REQUIRE(events.size() == 1);
  CHECK(events[0].name == std::string("begun on"));
}

TEST_CASE("a full ring keeps the newest and counts the lost", "[unit]") {
  const Recording recording;
  constexpr int64_t kMany = 100'000;
  titan::CollectedSpans spans;
  std::thread worker([&] {
    for (int64_t i = 0; i < kMany; ++i) {
      titan::record_instant("tick", {{"i", i}});
    }
  });
  worker.join();
  spans = titan::collect_spans();
  REQUIRE(!spans.events.empty());
  CHECK(spans.num_overwritten + static_cast<int64_t>(spans.events.size()) ==
        kMany);
  CHECK(spans.events.back().arguments[0].value == kMany - 1);
  CHECK(spans.events.front().arguments[0].value == spans.num_overwritten);
  CHECK(titan::collect_spans().num_overwritten == 0);
}

TEST_CASE("collecting while threads record loses and doubles nothing",
          "[unit]") {
  const Recording recording;
  constexpr int kPerThread = 2000;
  std::atomic<int> num_running{3};
  std::vector<std::thread> workers;
  for (int rank = 0; rank < 3; ++rank) {
    workers.emplace_back([&, rank] {
      titan::log::set_rank(rank);
      for (int i = 0; i < kPerThread; ++i) const Span span("work");
      --num_running;
    });
  }
  size_t num_events = 0;
  while (num_running > 0) num_events += titan::collect_spans().events.size();
  for (auto& worker : workers) worker.join();
  num_events += titan::collect_spans().events.size();
  CHECK(num_events == 3 * kPerThread);
}

TEST_CASE("the Chrome trace is JSON with ranks as processes", "[unit]") {
  const titan::test::ScratchFolder folder;
  const Recording recording;
  std::thread worker([] {
    titan::log::set_rank(5);
    titan::set_span_thread_name("loader \"1\"");
    const Span span(titan::intern_span_name("layers.0.attention"),
                    {{"item", 3}});
    titan::record_counter("bytes", 42);
  });
  worker.join();
  titan::record_instant("saved");
  titan::write_chrome_trace(titan::collect_spans(),
                            folder.path() / "trace.json");

  const auto trace = nlohmann::json::parse(folder.read("trace.json"));
  const auto find_event = [&](const std::string& name) {
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("name") == name) return event;
    }
    return nlohmann::json();
  };
  const auto span = find_event("layers.0.attention");
  CHECK(span.at("ph") == "X");
  CHECK(span.at("pid") == 5);
  CHECK(span.at("args").at("item") == 3);
  CHECK(span.at("dur").get<double>() >= 0);
  CHECK(span.at("ts") == 0.0);
  CHECK(find_event("bytes").at("args") == nlohmann::json{{"value", 42}});
  CHECK(find_event("saved").at("ph") == "i");
  bool has_thread_name = false;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") != "thread_name") continue;
    has_thread_name |= event.at("args").at("name") == "loader \"1\"";
  }
  CHECK(has_thread_name);
}

TEST_CASE("span lines hold one JSON object per event", "[unit]") {
  const titan::test::ScratchFolder folder;
  const Recording recording;
  { const Span span("forward", {{"item", 1}}); }
  titan::record_instant("saved");
  titan::write_span_lines(titan::collect_spans(), folder.path() / "s.jsonl");
  const std::string written = folder.read("s.jsonl");
  const auto lines = titan::split_lines(written);
  REQUIRE(lines.size() == 2);
  const auto first = nlohmann::json::parse(lines[0]);
  CHECK(first.at("name") == "forward");
  CHECK(first.at("kind") == "span");
  CHECK(first.at("args").at("item") == 1);
  CHECK(nlohmann::json::parse(lines[1]).at("kind") == "instant");
}

TEST_CASE("interned names are equal by pointer", "[unit]") {
  const std::string name = "layers.1";
  CHECK(titan::intern_span_name(name) ==
        titan::intern_span_name(std::string("layers.") + "1"));
  CHECK(titan::intern_span_name(name) != name.c_str());
}

TEST_CASE("the span table sums by name, largest own time first", "[unit]") {
  SpanEvent forward, backward, mark;
  forward.name = "forward";
  forward.duration_ns = 3'000'000;
  forward.self_ns = 1'000'000;
  backward.name = "backward pass";
  backward.duration_ns = 2'500'000;
  backward.self_ns = 2'500'000;
  mark.name = "mark";
  mark.kind = SpanKind::kInstant;
  CHECK(titan::span_table({forward, backward, forward, mark}) ==
        "name              count    total ms     self ms\n"
        "backward pass         1       2.500       2.500\n"
        "forward               2       6.000       2.000\n");
}

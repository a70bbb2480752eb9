// SPDX-License-Identifier: BSD-3-Clause
// What spans become: a Chrome trace, JSON lines, a table. Trace format: "Trace
// Event Format" of the Chromium project; times are microseconds.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/observe/append_file.h"
#include "core/observe/spans.h"

namespace titan {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson arguments_of(const SpanEvent& event) {
  OrderedJson arguments = OrderedJson::object();
  // A counter draws one curve per argument: its value only.
  if (event.step >= 0 && event.kind != SpanKind::kCounter) {
    arguments["step"] = event.step;
  }
  for (size_t i = 0; i < event.num_arguments; ++i) {
    arguments[event.arguments[i].key] = event.arguments[i].value;
  }
  if (event.is_error) arguments["error"] = true;
  return arguments;
}

double microseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

OrderedJson trace_event(const SpanEvent& event, int64_t origin_ns) {
  OrderedJson out;
  out["name"] = event.name;
  switch (event.kind) {
    case SpanKind::kSpan:
      out["ph"] = "X";
      out["dur"] = microseconds(event.duration_ns);
      break;
    case SpanKind::kInstant:
      out["ph"] = "i";
      out["s"] = "t";  // a mark on its own thread, not across all
      break;
    case SpanKind::kCounter:
      out["ph"] = "C";
      break;
  }
  out["ts"] = microseconds(event.start_ns - origin_ns);
  out["pid"] = event.rank;
  out["tid"] = event.thread;
  out["args"] = arguments_of(event);
  return out;
}

OrderedJson name_event(const char* what,
                       int rank,
                       int thread,
                       std::string name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", rank},
          {"tid", thread},
          {"args", {{"name", std::move(name)}}}};
}

// Names for the ranks and threads that occur.
void append_names(const CollectedSpans& spans, OrderedJson& out) {
  std::set<std::pair<int, int>> seen;
  for (const SpanEvent& event : spans.events) {
    seen.emplace(event.rank, event.thread);
  }
  for (const auto& [rank, thread] : seen) {
    out.push_back(name_event("process_name", rank, 0, text("rank ", rank)));
    out.push_back(
        name_event("thread_name",
                   rank,
                   thread,
                   spans.thread_names.at(static_cast<size_t>(thread))));
  }
}

const char* kind_name(SpanKind kind) {
  switch (kind) {
    case SpanKind::kSpan:
      return "span";
    case SpanKind::kInstant:
      return "instant";
    case SpanKind::kCounter:
      break;
  }
  return "counter";
}

std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

void write_chrome_trace(const CollectedSpans& spans,
                        const std::filesystem::path& path) {
  const int64_t origin_ns =
      spans.events.empty() ? 0 : spans.events.front().start_ns;
  OrderedJson events = OrderedJson::array();
  append_names(spans, events);
  for (const SpanEvent& event : spans.events) {
    events.push_back(trace_event(event, origin_ns));
  }
  OrderedJson trace;
  trace["traceEvents"] = std::move(events);
  trace["displayTimeUnit"] = "ms";
  trace["otherData"]["events_overwritten"] = spans.num_overwritten;
  replace_file(path, dump(trace));
}

void write_span_lines(const CollectedSpans& spans,
                      const std::filesystem::path& path) {
  std::string lines;
  for (const SpanEvent& event : spans.events) {
    OrderedJson line;
    line["name"] = event.name;
    line["kind"] = kind_name(event.kind);
    line["rank"] = event.rank;
    line["thread"] = spans.thread_names.at(static_cast<size_t>(event.thread));
    line["start_ns"] = event.start_ns;
    line["duration_ns"] = event.duration_ns;
    line["self_ns"] = event.self_ns;
    line["args"] = arguments_of(event);
    lines += dump(line) + '\n';
  }
  replace_file(path, lines);
}

std::string span_table(const std::vector<SpanEvent>& events) {
  struct Row {
    int64_t count = 0;
    int64_t total_ns = 0;
    int64_t self_ns = 0;
  };
  std::map<std::string, Row> by_name;
  size_t width = 4;
  for (const SpanEvent& event : events) {
    if (event.kind != SpanKind::kSpan) continue;
    Row& row = by_name[event.name];
    ++row.count;
    row.total_ns += event.duration_ns;
    row.self_ns += event.self_ns;
    width = std::max(width, std::string_view(event.name).size());
  }
  std::vector<std::pair<std::string, Row>> rows(by_name.begin(), by_name.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.self_ns > b.second.self_ns;
  });

  std::string out = "name";
  out.append(width - 4, ' ').append("     count    total ms     self ms\n");
  for (const auto& [name, row] : rows) {
    char numbers[80];
    std::snprintf(numbers,
                  sizeof(numbers),
                  "%10lld%12.3f%12.3f\n",
                  static_cast<long long>(row.count),
                  static_cast<double>(row.total_ns) / 1e6,
                  static_cast<double>(row.self_ns) / 1e6);
    out.append(name).append(width - name.size(), ' ').append(numbers);
  }
  return out;
}

}  // namespace titan

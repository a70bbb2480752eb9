// SPDX-License-Identifier: BSD-3-Clause
// Metrics as JSON lines: one object per record, readable with `jq` and by
// `titan compare` while the run is going on.
#include <cmath>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/observe/append_file.h"
#include "core/observe/log.h"
#include "core/observe/metrics.h"
#include "core/observe/text_file.h"

namespace titan {
namespace {

nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// The step of a line, or nullopt for a line that a kill tore.
std::optional<int64_t> parse_step(std::string_view line) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step")) return std::nullopt;
  const auto& step = object["step"];
  if (!step.is_number_integer()) return std::nullopt;
  return step.get<int64_t>();
}

void drop_lines_after(const std::filesystem::path& path, int64_t step) {
  const auto old_text = read_text_file(path);
  if (!old_text) return;  // resumed from elsewhere: the log starts here
  std::string kept;
  int64_t num_dropped = 0;
  for (std::string_view line : split_lines(*old_text)) {
    const auto line_step = parse_step(line);
    if (line_step && *line_step <= step) {
      kept.append(line).push_back('\n');
    } else {
      ++num_dropped;
    }
  }
  if (kept == *old_text) return;
  replace_file(path, kept);
  log::info(text("[metrics ",
                 path.string(),
                 "] dropped ",
                 num_dropped,
                 " lines beyond the resumed step ",
                 step));
}

void set_aside_older_run(const std::filesystem::path& path) {
  std::error_code missing;
  if (std::filesystem::file_size(path, missing) == 0 || missing) return;
  const std::filesystem::path previous = path.string() + ".previous";
  std::filesystem::rename(path, previous);
  log::info(text("[metrics ",
                 path.string(),
                 "] holds an earlier run: moved to ",
                 previous.string()));
}

class JsonlSink : public MetricSink {
 public:
  explicit JsonlSink(const std::filesystem::path& path) : file_(path) {}

  std::string_view name() const override { return file_.path().native(); }
  void write(const MetricRecord& record) override {
    file_.append(metric_json_line(record) + '\n');
  }
  void flush() override { file_.sync(); }

 private:
  AppendFile file_;
};

}  // namespace

std::string metric_json_line(const MetricRecord& record) {
  nlohmann::ordered_json line;
  line["step"] = record.step;
  for (const auto& [name, value] : record.values) {
    line[name] = json_number(value);
  }
  for (const auto& [name, value] : record.texts) line[name] = value;
  // Replace bytes that are not UTF-8: a path in a text value must not throw.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::unique_ptr<MetricSink> make_jsonl_sink(const std::filesystem::path& path,
                                            int64_t resumed_step) {
  if (resumed_step > 0) {
    drop_lines_after(path, resumed_step);
  } else {
    set_aside_older_run(path);
  }
  return std::make_unique<JsonlSink>(path);
}

}  // namespace titan

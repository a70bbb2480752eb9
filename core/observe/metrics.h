// SPDX-License-Identifier: BSD-3-Clause
// Metrics: what a run reports per step, and where it goes. Sinks: JSON lines
// (metrics_jsonl.cpp), TensorBoard (tensorboard.cpp), the terminal
// (metrics_terminal.cpp); plugins of kind `logger` add more. Names that tools
// rely on: loss, grad_norm, lr, tokens_s, tflops_s, mfu_percent, memory_mib,
// eta_seconds; loss/main and loss/<name> where a model adds losses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace titan {

struct MetricRecord {
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
  std::vector<std::pair<std::string, std::string>> texts;

  void add(std::string name, double value);
  std::optional<double> find(std::string_view name) const;
};

/// One destination. Called from one thread at a time; may throw.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual std::string_view name() const = 0;  ///< for messages
  virtual void write(const MetricRecord& record) = 0;
  virtual void flush() {}  ///< nothing to do where `write` is durable
};

/// Gives every record to every sink. A sink that throws warns once, then is
/// still offered each record (a full disk may be emptied): its trouble never
/// reaches the training loop nor the other sinks.
class MetricSinks {
 public:
  void add(std::unique_ptr<MetricSink> sink);
  void write(const MetricRecord& record);
  void flush();
  size_t size() const { return sinks_.size(); }

 private:
  struct Entry {
    std::unique_ptr<MetricSink> sink;
    int64_t num_failures = 0;
  };
  void call(Entry& entry, const std::function<void(MetricSink&)>& action);

  std::vector<Entry> sinks_;
};

/// One JSON object on one line: step first, then values and texts in order.
/// JSON has no NaN or infinity: those become the texts "NaN", "Infinity" and
/// "-Infinity", so that a diverged run is visible in its log.
std::string metric_json_line(const MetricRecord& record);

/// Appends JSON lines to `path`, each complete on disk (not synced) when
/// `write` returns. `resumed_step` > 0 keeps the file and drops the lines of
/// later steps, which will be trained again, and a torn last line; 0 starts
/// anew, moving an older file to "<path>.previous". UserError if unwritable.
std::unique_ptr<MetricSink> make_jsonl_sink(const std::filesystem::path& path,
                                            int64_t resumed_step);

/// Writes TensorBoard event files into `folder`, a new one per process; values
/// as scalars, texts in the text tab. `resumed_step` > 0 tells TensorBoard to
/// forget the scalars of earlier files beyond that step.
std::unique_ptr<MetricSink> make_tensorboard_sink(
    const std::filesystem::path& folder,
    int64_t resumed_step);

struct TerminalOptions {
  int64_t num_steps = 0;  ///< of the whole run; 0: unknown
  /// A line at step 1, every so many steps and at the last; on a terminal the
  /// steps between replace the status line.
  int64_t interval_steps = 1;
};

/// Logs `terminal_line` through titan::log.
std::unique_ptr<MetricSink> make_terminal_sink(TerminalOptions options);

/// "step 100/800  loss 5.1234  grad_norm 1.23  lr 8.0e-4  tok/s 4,512  ...":
/// the known names above in that order; others are for the files.
std::string terminal_line(const MetricRecord& record, int64_t num_steps);

}  // namespace titan

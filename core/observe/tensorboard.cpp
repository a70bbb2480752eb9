// SPDX-License-Identifier: BSD-3-Clause
// The TensorBoard sink: one event file per process, named as TensorBoard
// expects (it lists "*tfevents*" in order of name). Format: event_file.h.
#include <atomic>
#include <chrono>

#include <unistd.h>  // gethostname, getpid

#include <titan/text.h>

#include "core/observe/append_file.h"
#include "core/observe/event_file.h"
#include "core/observe/metrics.h"

namespace titan {
namespace {

double wall_time_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string event_file_name() {
  // Two sinks of one process within a second must not share a file.
  static std::atomic<int> num_files{0};
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  return text("events.out.tfevents.",
              static_cast<int64_t>(wall_time_seconds()),
              '.',
              std::string_view(host),
              '.',
              getpid(),
              '.',
              num_files++);
}

class TensorboardSink : public MetricSink {
 public:
  TensorboardSink(const std::filesystem::path& folder, int64_t resumed_step)
      : file_(folder / event_file_name()) {
    const double now = wall_time_seconds();
    file_.append(frame_record(encode_file_version(now)));
    if (resumed_step > 0) {
      file_.append(frame_record(encode_session_start(now, resumed_step + 1)));
    }
  }

  std::string_view name() const override { return file_.path().native(); }
  void write(const MetricRecord& record) override {
    file_.append(frame_record(encode_metrics(wall_time_seconds(), record)));
  }
  void flush() override { file_.sync(); }

 private:
  AppendFile file_;
};

}  // namespace

std::unique_ptr<MetricSink> make_tensorboard_sink(
    const std::filesystem::path& folder,
    int64_t resumed_step) {
  return std::make_unique<TensorboardSink>(folder, resumed_step);
}

}  // namespace titan

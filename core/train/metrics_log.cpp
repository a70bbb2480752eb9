// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/metrics_log.h"

#include <cstdio>
#include <filesystem>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <titan/text.h>

#include "core/observe/log.h"
#include "core/observe/memory.h"
#include "core/observe/peak_flops.h"
#include "core/observe/process_clock.h"

namespace titan::train {
namespace {

// 1024^3 is past the ridge of the roofline of every CPU measured.
constexpr int64_t kProbeExtent = 1024;

double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

}  // namespace

double measured_peak_flops(at::ScalarType dtype) {
  at::NoGradGuard no_grad;
  const at::Tensor a = at::ones({kProbeExtent, kProbeExtent}, dtype);
  const at::Tensor b = at::ones({kProbeExtent, kProbeExtent}, dtype);
  const double flops = 2.0 * kProbeExtent * kProbeExtent * kProbeExtent;
  constexpr double kBudgetSeconds = 0.2;
  return measure_peak_flops_per_second(
      [&] { at::mm(a, b); }, flops, kBudgetSeconds);
}

MetricsLog::MetricsLog(const RunSettings& settings,
                       const Training& training,
                       std::function<void(const std::string&)> print_line)
    : interval_(settings.metrics_interval),
      num_steps_(settings.num_steps),
      print_line_(std::move(print_line)) {
  flops_per_token_ = training.model->flops_per_token(training.options.seq_len);
  if (settings.peak_tflops)
    peak_flops_per_second_ = *settings.peak_tflops * 1e12;
  compute_dtype_ = training.engine->precision().compute;
  std::filesystem::create_directories(settings.folder);
  sinks_.add(make_terminal_sink(
      {.num_steps = num_steps_, .interval_steps = interval_}));
  if (settings.writes_jsonl)
    sinks_.add(make_jsonl_sink(settings.folder / "metrics.jsonl",
                               training.steps_done));
  if (settings.writes_tensorboard)
    sinks_.add(make_tensorboard_sink(settings.folder / "tensorboard",
                                     training.steps_done));
}

double MetricsLog::peak_flops_per_second() {
  if (!peak_flops_per_second_) {
    const auto start = std::chrono::steady_clock::now();
    peak_flops_per_second_ = measured_peak_flops(compute_dtype_);
    exclude(std::chrono::steady_clock::now() - start);
  }
  return *peak_flops_per_second_;
}

void MetricsLog::start_first_step() {
  seconds_before_first_step_ = seconds_since_process_start();
  if (!seconds_before_first_step_) return;
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.2f", *seconds_before_first_step_);
  log::info(text("startup: ", seconds, " s"));
}

void MetricsLog::add_step(const StepReport& report) {
  meter_.add_step(report.num_tokens);
  const bool is_logged = report.step == 1 || report.step % interval_ == 0 ||
                         report.step == num_steps_;
  if (!is_logged) return;
  const ThroughputReport speed = meter_.report();
  MetricRecord record;
  record.step = report.step;
  record.add("loss", report.loss);
  record.add("grad_norm", report.grad_norm);
  record.add("lr", report.lr);
  record.add("tokens_s", speed.tokens_per_second);
  record.add("tflops_s",
             tflops_per_second(flops_per_token_, speed.tokens_per_second));
  record.add(
      "mfu_percent",
      mfu_percent(
          flops_per_token_, speed.tokens_per_second, peak_flops_per_second()));
  record.add("memory_mib", mebibytes(read_memory_use().resident_bytes));
  record.add("tokens", static_cast<double>(report.num_tokens));
  record.add("targets", static_cast<double>(report.num_targets));
  record.add(
      "eta_seconds",
      speed.seconds_per_step * static_cast<double>(num_steps_ - report.step));
  if (seconds_before_first_step_)
    record.add("first_step_start_s", *seconds_before_first_step_);
  seconds_before_first_step_.reset();
  if (!report.added_losses.empty()) {
    record.add("loss/main", report.main_loss);
    for (const auto& [name, value] : report.added_losses)
      record.add("loss/" + name, value);
  }
  for (const auto& [name, value] : report.metrics) record.add(name, value);
  sinks_.write(record);
  if (print_line_) print_line_(metric_json_line(record));
}

void MetricsLog::add_validation(int64_t step, double loss) {
  MetricRecord record;
  record.step = step;
  record.add("validation_loss", loss);
  sinks_.write(record);
  if (print_line_) print_line_(metric_json_line(record));
}

void MetricsLog::add_checkpoint(int64_t step,
                                const checkpoint::SaveOutcome& outcome) {
  MetricRecord record;
  record.step = step;
  record.add("checkpoint_step", static_cast<double>(outcome.step));
  record.add("checkpoint_mib", mebibytes(outcome.num_bytes));
  record.add("checkpoint_blocked_s", outcome.blocked_seconds);
  record.add("checkpoint_total_s", outcome.total_seconds);
  sinks_.write(record);
}

void MetricsLog::exclude(std::chrono::steady_clock::duration pause) {
  meter_.exclude(pause);
}

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// The line a person watches. Columns are a table: name, label, form.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <titan/text.h>

#include "core/observe/log.h"
#include "core/observe/metrics.h"

namespace titan {
namespace {

std::string printed(const char* form, double value) {
  char out[64];
  std::snprintf(out, sizeof(out), form, value);
  return out;
}

std::string fixed_4(double value) {
  return printed("%.4f", value);
}
std::string fixed_2(double value) {
  return printed("%.2f", value);
}
std::string percent(double value) {
  return printed("%.1f%%", value);
}
std::string mebibytes(double value) {
  return printed("%.0f MiB", value);
}

// "8.0e-4": printf's exponent has two digits, people write one.
std::string scientific(double value) {
  std::string out = printed("%.1e", value);
  const size_t exponent = out.find('e');
  if (exponent != std::string::npos && out.size() == exponent + 4 &&
      out[exponent + 2] == '0') {
    out.erase(exponent + 2, 1);
    if (out[exponent + 1] == '+') out.erase(exponent + 1, 1);
  }
  return out;
}

std::string grouped_thousands(double value) {
  std::string out = printed("%.0f", value);
  if (!std::isfinite(value)) return out;
  const int first_digit = out.front() == '-' ? 1 : 0;
  for (int at = static_cast<int>(out.size()) - 3; at > first_digit; at -= 3) {
    out.insert(static_cast<size_t>(at), 1, ',');
  }
  return out;
}

// Two units at most: "45s", "1m20s", "3h05m", "2d04h".
std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  char out[32];
  const auto write = [&](const char* form, int64_t high, int64_t low) {
    std::snprintf(out,
                  sizeof(out),
                  form,
                  static_cast<long long>(high),
                  static_cast<long long>(low));
    return std::string(out);
  };
  if (whole < 60) return text(whole, 's');
  if (whole < 3600) return write("%lldm%02llds", whole / 60, whole % 60);
  const int64_t minutes = whole / 60;
  if (minutes < 1440) return write("%lldh%02lldm", minutes / 60, minutes % 60);
  const int64_t hours = minutes / 60;
  return write("%lldd%02lldh", hours / 24, hours % 24);
}

struct Column {
  const char* name;
  const char* label;
  std::string (*format)(double);
};

constexpr Column kColumns[] = {
    {"loss", "loss", fixed_4},
    {"grad_norm", "grad_norm", fixed_2},
    {"lr", "lr", scientific},
    {"tokens_s", "tok/s", grouped_thousands},
    {"tflops_s", "TFLOP/s", fixed_2},
    {"mfu_percent", "MFU", percent},
    {"memory_mib", "mem", mebibytes},
    {"eta_seconds", "eta", duration},
};

// "  (main 4.1200 balance 0.0120)" where the model adds losses of its own.
std::string loss_terms(const MetricRecord& record) {
  constexpr std::string_view kPrefix = "loss/";
  std::string terms;
  for (const auto& [name, value] : record.values)
    if (name.starts_with(kPrefix))
      terms += text(terms.empty() ? "" : " ",
                    name.substr(kPrefix.size()),
                    ' ',
                    fixed_4(value));
  return terms.empty() ? "" : text(" (", terms, ')');
}

// A record of other things (a validation) has its own line in the log.
bool has_column(const MetricRecord& record) {
  return std::any_of(
      std::begin(kColumns), std::end(kColumns), [&](const Column& column) {
        return record.find(column.name).has_value();
      });
}

class TerminalSink : public MetricSink {
 public:
  explicit TerminalSink(TerminalOptions options) : options_(options) {}
  // Removes the status line, so that what follows starts on a clean one.
  ~TerminalSink() override { log::progress(""); }

  std::string_view name() const override { return "terminal"; }
  void write(const MetricRecord& record) override {
    if (!has_column(record)) return;
    const std::string line = terminal_line(record, options_.num_steps);
    if (is_full_line(record.step)) {
      log::progress("");
      log::info(line);
    } else {
      log::progress(line);
    }
  }

 private:
  bool is_full_line(int64_t step) const {
    return step == 1 || step == options_.num_steps ||
           options_.interval_steps <= 1 || step % options_.interval_steps == 0;
  }

  TerminalOptions options_;
};

}  // namespace

std::string terminal_line(const MetricRecord& record, int64_t num_steps) {
  std::string line = text("step ", record.step);
  if (num_steps > 0) line += text('/', num_steps);
  for (const Column& column : kColumns) {
    const auto value = record.find(column.name);
    if (!value) continue;
    line.append("  ").append(column.label).append(" ");
    line.append(column.format(*value));
    if (column.name == std::string_view("loss")) line += loss_terms(record);
  }
  return line;
}

std::unique_ptr<MetricSink> make_terminal_sink(TerminalOptions options) {
  return std::make_unique<TerminalSink>(options);
}

}  // namespace titan

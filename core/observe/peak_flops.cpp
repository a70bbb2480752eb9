// SPDX-License-Identifier: BSD-3-Clause
// Names are matched by whole words and case-insensitively: a test for "l40s"
// in "NVIDIA L40S" must succeed, "GH200" is not an "H200", "B200" is not in
// "GB200".
#include "core/observe/peak_flops.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string>
#include <vector>

namespace titan {
namespace {

struct PeakRow {
  const char* words;  // all must occur in the name
  double flops_per_second;
};

// Dense bf16 tensor FLOP/s of the vendors' datasheets (the 2:4 sparse numbers
// halved). First match wins: variants stand before the plain name.
constexpr PeakRow kPeaks[] = {
    {"a100", 312e12},
    {"a6000", 154.85e12},
    {"h100 nvl", 835e12},
    {"h100 pcie", 756e12},
    {"h100", 989e12},
    {"gh200", 989e12},
    {"h200 nvl", 835e12},
    {"h200", 989e12},
    {"h20", 148e12},
    {"gb200", 2500e12},
    {"gb300", 2500e12},
    {"b200", 2250e12},
    {"b300", 2250e12},
    {"l40s", 362e12},
    {"mi355x", 2500e12},
    {"mi300x", 1300e12},
    {"mi325x", 1300e12},
    {"mi250x", 191.5e12},  // one of its two dies: each is a device
};

std::vector<std::string> lower_case_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) {
      words.back().push_back(static_cast<char>(std::tolower(byte)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

}  // namespace

std::optional<double> gpu_peak_flops_per_second(std::string_view device_name) {
  const auto words = lower_case_words(device_name);
  const auto is_in_name = [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (is_in_name("mig")) return std::nullopt;
  for (const PeakRow& row : kPeaks) {
    const auto wanted = lower_case_words(row.words);
    if (std::all_of(wanted.begin(), wanted.end(), is_in_name)) {
      return row.flops_per_second;
    }
  }
  return std::nullopt;
}

double measure_peak_flops_per_second(const std::function<void()>& multiply,
                                     double flops,
                                     double budget_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto begin = Clock::now();
  multiply();  // first touch of pages, thread start, code generation
  double fastest_seconds = 0;
  do {
    const auto start = Clock::now();
    multiply();
    const double seconds = seconds_since(start);
    if (fastest_seconds == 0 || seconds < fastest_seconds) {
      fastest_seconds = seconds;
    }
  } while (seconds_since(begin) < budget_seconds);
  return fastest_seconds > 0 ? flops / fastest_seconds : 0;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/process_clock.h"

#include <charconv>
#include <ctime>

#include <unistd.h>  // sysconf

#include "core/observe/text_file.h"

namespace titan {

std::optional<long long> parse_start_ticks(std::string_view stat_line) {
  // Field 2, the name, is in parentheses and may hold anything, so fields are
  // counted from its end: field 3 follows.
  const size_t name_end = stat_line.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat_line.substr(name_end + 1);
  for (int field = 3; field <= 22; ++field) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  long long ticks = 0;
  const auto parsed =
      std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  if (parsed.ec != std::errc()) return std::nullopt;
  return ticks;
}

std::optional<double> seconds_since_process_start() {
  const auto stat = read_text_file("/proc/self/stat");
  if (!stat) return std::nullopt;
  const auto ticks = parse_start_ticks(*stat);
  timespec now = {};
  const long ticks_per_second = sysconf(_SC_CLK_TCK);
  if (!ticks || ticks_per_second <= 0 ||
      clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return std::nullopt;
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9 -
         static_cast<double>(*ticks) / static_cast<double>(ticks_per_second);
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Parses "VmHWM:     12345 kB" lines. See proc(5), /proc/pid/status.
#include "core/observe/memory.h"

#include <charconv>
#include <fstream>

#include "core/observe/text_file.h"

namespace titan {
namespace {

int64_t parse_kibibytes(std::string_view text) {
  const size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) return 0;
  int64_t kibibytes = 0;
  std::from_chars(text.data() + start, text.data() + text.size(), kibibytes);
  return kibibytes * 1024;
}

}  // namespace

MemoryUse parse_memory_use(std::string_view status_text) {
  MemoryUse use;
  for (std::string_view line : split_lines(status_text)) {
    if (line.starts_with("VmRSS:")) use.resident_bytes = parse_kibibytes(line);
    if (line.starts_with("VmHWM:")) {
      use.peak_resident_bytes = parse_kibibytes(line);
    }
    if (line.starts_with("RssAnon:")) {
      use.anonymous_bytes = parse_kibibytes(line);
    }
  }
  return use;
}

MemoryUse read_memory_use() {
  return parse_memory_use(read_text_file("/proc/self/status").value_or(""));
}

bool reset_peak_memory() {
  // 5 = reset the high-water mark, proc(5) since Linux 4.0.
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process uses, as the kernel counts it. The numbers of
// /proc/self/status and not an allocator's: LibTorch, plugins and the page
// cache of mapped files all count against the same limit.
#pragma once

#include <cstdint>
#include <string_view>

namespace titan {

struct MemoryUse {
  int64_t resident_bytes = 0;       ///< VmRSS
  int64_t peak_resident_bytes = 0;  ///< VmHWM, since start or the last reset
  int64_t anonymous_bytes = 0;      ///< RssAnon: without mapped files
};

/// Reads the counters of this process (about 30 us). A counter that the kernel
/// does not offer is 0.
MemoryUse read_memory_use();

/// Parses the text of /proc/<pid>/status.
MemoryUse parse_memory_use(std::string_view status_text);

/// Makes the peak start again at the current size, to measure one phase.
/// False where the kernel refuses (needs a writable /proc/self/clear_refs).
bool reset_peak_memory();

}  // namespace titan

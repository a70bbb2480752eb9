// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/memory.h"

#include <cstring>

#include <catch2/catch.hpp>
#include <sys/mman.h>

TEST_CASE("memory counters are parsed from the kernel's text", "[unit]") {
  const auto use = titan::parse_memory_use(
      "Name:\ttitan\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"
      "RssAnon:\t     512 kB\nRssFile:\t     500 kB\n");
  CHECK(use.peak_resident_bytes == 2048 * 1024);
  CHECK(use.resident_bytes == 1024 * 1024);
  CHECK(use.anonymous_bytes == 512 * 1024);
  CHECK(titan::parse_memory_use("VmRSS:\tnone\n").resident_bytes == 0);
}

TEST_CASE("touching memory raises the resident size and its peak", "[unit]") {
  const auto before = titan::read_memory_use();
  CHECK(before.resident_bytes > 0);
  constexpr int64_t kBytes = 64 << 20;
  // Mapped by hand: an allocator may keep or reuse pages as it likes.
  void* const pages = mmap(nullptr,
                           kBytes,
                           PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS,
                           -1,
                           0);
  REQUIRE(pages != MAP_FAILED);
  std::memset(pages, 1, kBytes);
  const auto during = titan::read_memory_use();
  munmap(pages, kBytes);
  // Half: the kernel batches its counters per thread.
  CHECK(during.anonymous_bytes - before.anonymous_bytes > kBytes / 2);
  CHECK(during.peak_resident_bytes >= during.resident_bytes - (1 << 20));

  if (!titan::reset_peak_memory()) return;  // kernel without clear_refs
  const auto after = titan::read_memory_use();
  CHECK(after.peak_resident_bytes < during.peak_resident_bytes - kBytes / 2);
}

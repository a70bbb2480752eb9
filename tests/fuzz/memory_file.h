// SPDX-License-Identifier: BSD-3-Clause
// A file in memory with a path, for readers that open files.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>  // memfd_create
#include <unistd.h>    // ftruncate, pwrite

namespace titan::fuzz {

class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0) std::abort();
  }

  /// Replaces the content and returns the path.
  std::string write(std::string_view bytes) const {
    if (ftruncate(descriptor_, 0) != 0) std::abort();
    const auto size = static_cast<ssize_t>(bytes.size());
    if (pwrite(descriptor_, bytes.data(), bytes.size(), 0) != size)
      std::abort();
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

}  // namespace titan::fuzz

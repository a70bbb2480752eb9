// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/staging_buffer.h"

#include <cerrno>
#include <system_error>

#include <sys/mman.h>  // mmap

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

// Huge pages: a 500 MB buffer has 250 of them instead of 128,000.
constexpr std::size_t kPageBytes = std::size_t{2} << 20;

}  // namespace

StagingBuffer::~StagingBuffer() {
  release();
}

void StagingBuffer::release() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  memory_ = {};
}

std::span<std::byte> StagingBuffer::reserve(std::size_t size_bytes) {
  if (size_bytes > memory_.size()) {
    release();
    const std::size_t capacity =
        (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* const address = ::mmap(nullptr,
                                 capacity,
                                 PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS,
                                 -1,
                                 0);
    if (address == MAP_FAILED)
      throw DeviceError(text("[checkpoint.async] staging memory: expected ",
                             capacity,
                             " bytes, got ",
                             std::generic_category().message(errno),
                             ". Save without checkpoint.async."));
    // A hint: without huge pages the copy is only slower.
    ::madvise(address, capacity, MADV_HUGEPAGE);
    memory_ = {static_cast<std::byte*>(address), capacity};
  }
  return memory_.first(size_bytes);
}

}  // namespace titan::checkpoint

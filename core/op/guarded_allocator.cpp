// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/guarded_allocator.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <sys/mman.h>
#include <unistd.h>  // sysconf

namespace titan::op {
namespace {

constexpr unsigned char kGuardByte = 0xA7;

/// Mapped: guard bytes, data, guard bytes up to the alignment, a dead page.
struct GuardedBlock {
  unsigned char* map = nullptr;
  size_t map_bytes = 0;
  size_t usable_bytes = 0;  // before the dead page
  size_t data_bytes = 0;
};

std::mutex guarded_mutex;
std::unordered_map<void*, GuardedBlock>& guarded_blocks() {
  static auto* blocks = new std::unordered_map<void*, GuardedBlock>();
  return *blocks;
}

size_t rounded_up(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

void require_guard_bytes(const unsigned char* begin,
                         const unsigned char* end,
                         const GuardedBlock& block,
                         const char* side) {
  if (std::all_of(
          begin, end, [](unsigned char byte) { return byte == kGuardByte; }))
    return;
  std::fprintf(stderr,
               "[memory] a write %s a tensor of %zu bytes\n",
               side,
               block.data_bytes);
  std::abort();
}

void release_guarded(void* data) {
  if (data == nullptr) return;
  GuardedBlock block;
  {
    const std::lock_guard lock(guarded_mutex);
    const auto found = guarded_blocks().find(data);
    block = found->second;
    guarded_blocks().erase(found);
  }
  const auto* first = static_cast<const unsigned char*>(data);
  require_guard_bytes(block.map, first, block, "before");
  require_guard_bytes(first + block.data_bytes,
                      block.map + block.usable_bytes,
                      block,
                      "behind");
  ::munmap(block.map, block.map_bytes);
}

class GuardedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    if (size == 0)
      return {nullptr, nullptr, &release_guarded, c10::Device(c10::kCPU)};
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    GuardedBlock block;
    block.data_bytes = size;
    block.usable_bytes = rounded_up(size, page);
    block.map_bytes = block.usable_bytes + page;
    void* map = ::mmap(nullptr,
                       block.map_bytes,
                       PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS,
                       -1,
                       0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    block.map = static_cast<unsigned char*>(map);
    ::mprotect(block.map + block.usable_bytes, page, PROT_NONE);
    std::memset(block.map, kGuardByte, block.usable_bytes);
    void* data =
        block.map + block.usable_bytes - rounded_up(size, c10::gAlignment);
    const std::lock_guard lock(guarded_mutex);
    guarded_blocks()[data] = block;
    return {data, data, &release_guarded, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_guarded; }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }
};

}  // namespace

void install_guarded_allocator() {
  static GuardedAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/2);
}

}  // namespace titan::op

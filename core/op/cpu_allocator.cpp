// SPDX-License-Identifier: BSD-3-Clause
// LibTorch asks posix_memalign for every tensor. glibc before 2.38 cannot give
// such a block a second time: it looks for a hole with room for any alignment,
// which the freed block of the same size does not have, so the heap grows with
// every step (glibc bug 14581). Debug model, 8192 tokens, fp32, full recompute,
// glibc 2.36: 314 MiB of tensors at the peak, 1605 MiB resident; with plain
// malloc and our own alignment 267 MiB more than before
// (bench/results/memory_estimate.md).
#include "core/op/cpu_allocator.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>

namespace titan::op {
namespace {

// The block that malloc gave is remembered in front of the data.
void*& base_of(void* data) {
  return static_cast<void**>(data)[-1];
}

void release(void* data) {
  if (data == nullptr) return;
  c10::profiledCPUMemoryReporter().Delete(data);
  std::free(base_of(data));
}

class ReusingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = nullptr;
    if (size > 0) {
      void* base = std::malloc(size + c10::gAlignment + sizeof(void*));
      if (base == nullptr) throw std::bad_alloc();
      const auto first = reinterpret_cast<uintptr_t>(base) + sizeof(void*);
      data = reinterpret_cast<void*>((first + c10::gAlignment - 1) &
                                     ~(c10::gAlignment - 1));
      base_of(data) = base;
      c10::profiledCPUMemoryReporter().New(data, size);
    }
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }
};

}  // namespace

void install_cpu_allocator() {
  static ReusingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
}

}  // namespace titan::op

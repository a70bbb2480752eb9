// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/cpu_allocator.h"

#include <cstdint>
#include <set>

#include <ATen/ATen.h>
#include <c10/core/alignment.h>
#include <catch2/catch.hpp>

namespace titan::op {

TEST_CASE("tensors are aligned, resize and survive as before") {
  install_cpu_allocator();
  for (const int64_t size : {1, 7, 64, 4097, 1 << 20}) {
    at::Tensor tensor = at::arange(size, at::kFloat);
    CHECK(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % c10::gAlignment ==
          0);
    tensor.resize_({2 * size});
    CHECK(tensor.narrow(0, 0, size).equal(at::arange(size, at::kFloat)));
  }
  CHECK(at::empty({0}).numel() == 0);
}

#ifndef __SANITIZE_ADDRESS__  // which keeps freed blocks back
// glibc's posix_memalign grew the heap here: a freed block had no room for the
// same block's worst alignment (see cpu_allocator.cpp).
TEST_CASE("a freed block is used again for the next one of its size") {
  install_cpu_allocator();
  // Below every mmap threshold, so that blocks come from the heap.
  constexpr int64_t kSize = 64 << 10;
  std::set<void*> places;
  for (int i = 0; i < 64; ++i) {
    const at::Tensor block = at::empty({kSize}, at::kByte);
    places.insert(block.data_ptr());
  }
  CHECK(places.size() <= 2);
}
#endif

}  // namespace titan::op

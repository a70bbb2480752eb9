// SPDX-License-Identifier: BSD-3-Clause
// Memory for blocks: a vector load that crosses a cache line costs two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace titan::kernels {

/// std::allocator with the alignment of a cache line.
template <typename Element>
struct LineAllocator {
  using value_type = Element;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <typename Other>
  explicit LineAllocator(const LineAllocator<Other>&) {}
  Element* allocate(std::size_t size) {
    return static_cast<Element*>(::operator new(size * sizeof(Element), kLine));
  }
  void deallocate(Element* data, std::size_t) {
    ::operator delete(data, kLine);
  }
  bool operator==(const LineAllocator&) const { return true; }
};

using Scratch = std::vector<float, LineAllocator<float>>;

}  // namespace titan::kernels

// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a safetensors file: accepted ones are consistent to the byte,
// all others are refused with a UserError.
#include <cstdlib>
#include <span>

#include <titan/error.h>

#include "core/checkpoint/safetensors.h"

using namespace titan::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const SafetensorsContent content = parse_safetensors(bytes, "fuzz");
    const std::byte* next = nullptr;
    for (const TensorView& view : content.tensors) {
      const auto expected = tensor_size_bytes(view.dtype, view.shape);
      if (!expected ||
          *expected != static_cast<std::int64_t>(view.bytes.size()))
        std::abort();
      if (view.bytes.empty()) continue;
      if (next != nullptr && view.bytes.data() != next) std::abort();
      next = view.bytes.data() + view.bytes.size();
      if (next > bytes.data() + bytes.size()) std::abort();
    }
  } catch (const titan::UserError&) {
    // What a hostile file deserves.
  }
  return 0;
}

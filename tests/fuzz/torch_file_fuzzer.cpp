// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a file of torch.save: tensors of accepted ones can be read to
// the last element, all others are refused with a UserError.
#include <cstdlib>
#include <span>

#include <titan/error.h>

#include "core/checkpoint/torch_file.h"

using namespace titan::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  try {
    const TorchContent content =
        parse_torch("fuzz", std::as_bytes(std::span(data, size)));
    for (const StridedTensor& tensor : content.tensors) {
      std::int64_t got = 0;
      read_elements(tensor, [&](std::span<const std::byte> piece) {
        got += static_cast<std::int64_t>(piece.size());
      });
      if (got != spec_size_bytes(tensor.spec)) std::abort();
    }
  } catch (const titan::UserError&) {
    // What a hostile file deserves.
  }
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy files of whole numbers: token batches that other trainers wrote,
// so that both sides of a comparison see the same data. Format: numpy.lib
// .format, versions 1 to 3.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace titan::train {

struct IntegerArray {
  std::vector<int64_t> shape;
  std::vector<int32_t> values;  // row-major
};

/// Reads little-endian int32, C order. UserError for anything else, and for a
/// file whose size is not the shape's.
IntegerArray read_npy(const std::filesystem::path& path);

}  // namespace titan::train

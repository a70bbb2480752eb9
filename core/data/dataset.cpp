// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/data/hash.h"

namespace titan {

bool UnitReader::skip_block() {
  std::vector<Record> passed_over;
  return next_block(passed_over);
}

bool UnitReader::skip_to(int64_t from, int64_t to) {
  for (; from < to; from = name_behind(from))
    if (!skip_block()) return false;
  return true;
}

bool is_held_out(std::string_view text, double fraction) {
  // 53 bits: exact in a double.
  const uint64_t bits = mix_bits(hash_bytes(text)) >> 11;
  return static_cast<double>(bits) * 0x1p-53 < fraction;
}

uint64_t fingerprint_of_file(const std::string& path) {
  constexpr int64_t kSample = 4096;
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, "[data] file cannot be read: ", path);
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  std::string bytes(static_cast<size_t>(std::min(size, kSample)), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  uint64_t state = combine_hash(static_cast<uint64_t>(size), hash_bytes(bytes));
  file.seekg(size - static_cast<int64_t>(bytes.size()));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  TITAN_USER_CHECK(file, "[data] file cannot be read: ", path);
  return combine_hash(state, hash_bytes(bytes));
}

int64_t unit_size(int64_t total,
                  int64_t num_lanes,
                  int64_t smallest,
                  int64_t largest) {
  // Beyond a million units their list costs more than larger blocks do.
  constexpr int64_t kMaxUnits = 1 << 20;
  const int64_t wanted =
      std::max(total / num_lanes, std::min(smallest, largest));
  return std::max({std::min(wanted, largest), total / kMaxUnits, int64_t{1}});
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/npy.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <titan/error.h>

namespace titan::train {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPrefix = 10;  // magic, version, header length (version 1)

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(
      file.good(), "[", path.string(), "] expected a .npy file, got none");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string header_of(const std::string& bytes,
                      const std::string& where,
                      size_t& data_begin) {
  TITAN_USER_CHECK(
      bytes.size() >= kPrefix && bytes.compare(0, 6, kMagic) == 0,
      "[",
      where,
      "] expected a .npy file (\\x93NUMPY first), got another kind");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(bytes[i]));
  };
  size_t begin = kPrefix;
  size_t length = byte(8) | byte(9) << 8;
  if (bytes[6] != 1) {  // versions 2 and 3: four bytes of length
    TITAN_USER_CHECK(bytes.size() >= 12,
                     "[",
                     where,
                     "] header: expected 12 bytes, got ",
                     bytes.size());
    begin = 12;
    length |= byte(10) << 16 | byte(11) << 24;
  }
  TITAN_USER_CHECK(begin + length <= bytes.size(),
                   "[",
                   where,
                   "] header: expected ",
                   length,
                   " bytes, got ",
                   bytes.size() - begin);
  data_begin = begin + length;
  return bytes.substr(begin, length);
}

std::vector<int64_t> shape_of(const std::string& header,
                              const std::string& where) {
  const size_t key = header.find("'shape'");
  const size_t open = header.find('(', key);
  const size_t close = header.find(')', open);
  TITAN_USER_CHECK(key != std::string::npos && open != std::string::npos &&
                       close != std::string::npos,
                   "[",
                   where,
                   "] header: expected a shape, got ",
                   header);
  std::vector<int64_t> shape;
  int64_t value = -1;
  for (size_t i = open + 1; i <= close; ++i) {
    const char c = header[i];
    if (c >= '0' && c <= '9') {
      TITAN_USER_CHECK(value < std::numeric_limits<int32_t>::max(),
                       "[",
                       where,
                       "] shape: expected 32-bit extents");
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
    } else if (value >= 0) {
      shape.push_back(value);
      value = -1;
    }
  }
  return shape;
}

}  // namespace

IntegerArray read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_bytes(path), where = path.string();
  size_t begin = 0;
  const std::string header = header_of(bytes, where, begin);
  TITAN_USER_CHECK(
      header.find("'<i4'") != std::string::npos &&
          header.find("'fortran_order': False") != std::string::npos,
      "[",
      where,
      "] expected little-endian int32 in C order, got ",
      header);
  IntegerArray array;
  array.shape = shape_of(header, where);
  // In doubles, so that a hostile shape cannot overflow.
  double expected = sizeof(int32_t);
  for (int64_t extent : array.shape) expected *= static_cast<double>(extent);
  TITAN_USER_CHECK(static_cast<double>(bytes.size() - begin) == expected,
                   "[",
                   where,
                   "] data: expected ",
                   expected,
                   " bytes for shape ",
                   array.shape,
                   ", got ",
                   bytes.size() - begin);
  array.values.resize((bytes.size() - begin) / sizeof(int32_t));
  std::memcpy(array.values.data(), bytes.data() + begin, bytes.size() - begin);
  return array;
}

}  // namespace titan::train

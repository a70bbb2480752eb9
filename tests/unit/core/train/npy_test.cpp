// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/npy.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace titan::train {
namespace {

// What numpy.save writes: header padded to a multiple of 64 bytes.
std::string npy(const std::string& dictionary,
                const std::vector<int32_t>& values) {
  std::string header = dictionary;
  header.resize((10 + dictionary.size()) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const size_t begin = bytes.size();
  bytes.resize(begin + values.size() * sizeof(int32_t));
  std::memcpy(bytes.data() + begin, values.data(), bytes.size() - begin);
  return bytes;
}

std::string dictionary(const std::string& dtype, const std::string& shape) {
  return "{'descr': '" + dtype +
         "', 'fortran_order': False, 'shape': " + shape + ", }";
}

IntegerArray read(const std::string& bytes) {
  const auto path =
      std::filesystem::temp_directory_path() / "titan_npy_test.npy";
  std::ofstream(path, std::ios::binary) << bytes;
  return read_npy(path);
}

}  // namespace

TEST_CASE("a .npy file of int32 gives its shape and values", "[unit]") {
  const IntegerArray array =
      read(npy(dictionary("<i4", "(1, 2, 3)"), {1, 2, 3, 4, 5, -6}));
  CHECK(array.shape == std::vector<int64_t>{1, 2, 3});
  CHECK(array.values == std::vector<int32_t>{1, 2, 3, 4, 5, -6});
  CHECK(read(npy(dictionary("<i4", "(2,)"), {7, 8})).shape ==
        std::vector<int64_t>{2});
}

TEST_CASE("a .npy file that is something else is refused", "[unit]") {
  CHECK_THROWS_AS(read(""), UserError);
  CHECK_THROWS_AS(read("PK\x03\x04 a zip archive"), UserError);
  CHECK_THROWS_AS(read(npy(dictionary("<i8", "(1,)"), {1, 2})), UserError);
  CHECK_THROWS_AS(read(npy(dictionary("<i4", "(3,)"), {1, 2})), UserError);
  CHECK_THROWS_AS(read(npy(dictionary("<i4", "(99999999999999,)"), {1})),
                  UserError);
  CHECK_THROWS_AS(read(npy(dictionary("<i4", "(1, 1)"), {1}).substr(0, 40)),
                  UserError);
  CHECK_THROWS_AS(read_npy("/not/there.npy"), UserError);
}

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/cast.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/decode.h"
#include "core/checkpoint/export.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;

namespace {

namespace fs = std::filesystem;

std::vector<double> encoded(Dtype dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes;
  encode_floats(dtype, values, bytes);
  return decode(dtype, bytes);
}

// This process's private memory, in KiB.
std::int64_t private_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      std::int64_t kib = 0;
      status >> kib;
      return kib;
    }
  return 0;
}

// Files that forget what is written and watch the memory meanwhile.
class WatchingFiles : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const fs::path&) override {
    class Sink : public WritableFile {
     public:
      explicit Sink(WatchingFiles& owner) : owner_(owner) {}
      void append(std::span<const std::byte> bytes) override {
        owner_.written_bytes += static_cast<std::int64_t>(bytes.size());
        owner_.peak_kib = std::max(owner_.peak_kib, private_memory_kib());
      }
      void sync() override {}
      void close() override {}

     private:
      WatchingFiles& owner_;
    };
    return std::make_unique<Sink>(*this);
  }
  void make_folder(const fs::path&) override {}
  void rename(const fs::path&, const fs::path&) override {}
  void sync_folder(const fs::path&) override {}
  void remove(const fs::path&) override {}
  std::vector<FolderEntry> list(const fs::path&) const override { return {}; }
  bool exists(const fs::path&) const override { return false; }

  std::int64_t written_bytes = 0;
  std::int64_t peak_kib = 0;
};

// A header and a hole: zeros that take no room on the disk.
void make_sparse(const fs::path& path,
                 const std::string& header,
                 std::uintmax_t size_bytes) {
  std::string start(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    start[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  put_file(path, start + header);
  fs::resize_file(path, 8 + header.size() + size_bytes);
}

}  // namespace

TEST_CASE("floats are rounded to the nearest, ties to even", "[unit]") {
  using Values = std::vector<double>;
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(encoded(Dtype::kF32, {1.1f}) == Values{static_cast<double>(1.1f)});
  // 8 bits of precision: 257 lies between 256 and 258, 259 between 258 and 260.
  CHECK(encoded(Dtype::kBf16, {257, 259, -257, inf}) ==
        Values{256, 260, -256, inf});
  // 11 bits: 2049 and 2051 are ties; 65520 is the first that is infinite.
  CHECK(encoded(Dtype::kF16, {2049, 2051, 65519, 65520, -inf}) ==
        Values{2048, 2052, 65504, inf, -inf});
  // Subnormal steps of 2^-24.
  CHECK(encoded(Dtype::kF16,
                {std::ldexp(1.5f, -24),
                 std::ldexp(2.5f, -24),
                 std::ldexp(1.0f, -26),
                 -std::ldexp(1.0f, -24)}) == Values{std::ldexp(2.0, -24),
                                                    std::ldexp(2.0, -24),
                                                    0,
                                                    -std::ldexp(1.0, -24)});
  CHECK(std::isnan(encoded(Dtype::kBf16, {std::nanf("")})[0]));
  CHECK(std::isnan(encoded(Dtype::kF16, {std::nanf("")})[0]));
}

TEST_CASE("every 16-bit and 8-bit float survives the way through", "[unit]") {
  std::vector<std::byte> patterns;
  for (int i = 0; i < 65536; ++i) {
    patterns.push_back(static_cast<std::byte>(i & 0xff));
    patterns.push_back(static_cast<std::byte>(i >> 8));
  }
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    std::vector<float> values;
    decode_floats(dtype, patterns, values);
    std::vector<std::byte> again;
    encode_floats(dtype, values, again);
    std::size_t num_different = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isnan(values[i]) && (again[2 * i] != patterns[2 * i] ||
                                     again[2 * i + 1] != patterns[2 * i + 1]))
        ++num_different;
    CHECK(num_different == 0);
  }
}

TEST_CASE("only floating-point tensors are cast", "[unit]") {
  const std::vector<float> values = {1, 2};
  const std::vector<std::int32_t> integers = {3, 4};
  const auto cast =
      cast_floats({{{"f", Dtype::kF32, {2}},
                    borrow_bytes(std::as_bytes(std::span(values)))},
                   {{"i", Dtype::kI32, {2}},
                    borrow_bytes(std::as_bytes(std::span(integers)))}},
                  Dtype::kF16);
  CHECK(cast[0].spec.dtype == Dtype::kF16);
  CHECK(decode(Dtype::kF16, collect_bytes(cast[0])) ==
        std::vector<double>{1, 2});
  CHECK(cast[1].spec.dtype == Dtype::kI32);
  CHECK(decode(Dtype::kI32, collect_bytes(cast[1])) ==
        std::vector<double>{3, 4});
}

TEST_CASE("half a gigabyte is cast in 64 MiB of memory", "[unit]") {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "model.safetensors";
  make_sparse(path,
              R"({"w":{"dtype":"F32","shape":[125000,1000],)"
              R"("data_offsets":[0,500000000]}})",
              500'000'000);
  const std::int64_t before_kib = private_memory_kib();
  WatchingFiles files;
  HfFolder content;
  content.tensors = cast_floats(safetensors_sources(path), Dtype::kBf16);
  write_hf_folder(files, "out", content);
  CHECK(files.written_bytes > 250'000'000);
  CHECK(files.written_bytes < 250'001'000);
  CHECK(before_kib > 0);
#ifndef __SANITIZE_THREAD__  // whose shadow is four times what is touched
  CHECK(files.peak_kib - before_kib < 64 * 1024);
#endif
}

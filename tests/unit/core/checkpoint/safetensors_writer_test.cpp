// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/safetensors_writer.h"

#include <algorithm>
#include <cstring>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/safetensors.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace {

// Bytes that differ from tensor to tensor.
std::string payload(const TensorSpec& spec, char seed) {
  std::string bytes(
      static_cast<std::size_t>(*tensor_size_bytes(spec.dtype, spec.shape)),
      seed);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(bytes[i] + static_cast<char>(i));
  return bytes;
}

}  // namespace

TEST_CASE("every dtype and rank survives a round trip", "[unit]") {
  TemporaryFolder folder;
  const std::vector<std::vector<std::int64_t>> shapes = {
      {}, {1}, {7}, {0}, {0, 4}, {3, 5}, {2, 3, 4, 5}};
  std::vector<std::string> payloads;
  std::vector<TensorSpec> specs;
  for (const DtypeRow& row : kDtypes) {
    for (const auto& shape : shapes) {
      TensorSpec spec{titan::text(row.name, shape), row.dtype, shape};
      payloads.push_back(payload(spec, static_cast<char>(payloads.size())));
      specs.push_back(std::move(spec));
    }
  }
  std::vector<TensorSource> sources;
  for (std::size_t i = 0; i < specs.size(); ++i)
    sources.push_back({specs[i], borrow_bytes(bytes_of(payloads[i]))});
  const auto path = folder.path() / "all.safetensors";
  const WrittenFile written =
      write_safetensors(real_file_system(), path, sources, {{"k", "v\n\""}});

  const SafetensorsFile file(path);
  CHECK(written.size_bytes == file.bytes().size());
  CHECK(written.checksum == compute_checksum(file.bytes()));
  CHECK(file.metadata().at("k") == "v\n\"");
  CHECK(file.tensors().size() == specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    INFO(specs[i].name);
    const TensorView& view = file.get(specs[i].name);
    CHECK(view.dtype == specs[i].dtype);
    CHECK(view.shape == specs[i].shape);
    CHECK(std::ranges::equal(view.bytes, bytes_of(payloads[i])));
    const auto address = reinterpret_cast<std::uintptr_t>(view.bytes.data());
    CHECK(address % static_cast<std::uintptr_t>(dtype_size_bytes(view.dtype)) ==
          0);
  }
}

TEST_CASE("header is padded with spaces to a multiple of eight", "[unit]") {
  TemporaryFolder folder;
  for (std::string name = "t"; name.size() < 10; name += 't') {
    const auto path = folder.path() / "a";
    const TensorSpec spec{name, Dtype::kU8, {1}};
    write_safetensors(
        real_file_system(), path, {{spec, borrow_bytes(bytes_of("x"))}});
    const std::string text = get_file(path);
    const auto length = static_cast<unsigned char>(text[0]);
    CHECK(length % 8 == 0);
    CHECK(text.size() == 8u + length + 1u);
    const std::string header = text.substr(8, length);
    CHECK(header.find_last_not_of(' ') == header.rfind('}'));
  }
}

TEST_CASE("PyTorch's file is rewritten byte for byte", "[unit]") {
  TemporaryFolder folder;
  const SafetensorsFile model(TITAN_SOURCE_DIR
                              "/tests/golden/llama3/model.safetensors");
  std::vector<TensorSource> sources;
  for (const TensorView& view : model.tensors())
    sources.push_back(
        {{view.name, view.dtype, view.shape}, borrow_bytes(view.bytes)});
  write_safetensors(
      real_file_system(), folder.path() / "copy", sources, model.metadata());
  CHECK(get_file(folder.path() / "copy") == get_file(model.path()));
}

TEST_CASE("writer takes bytes in pieces of any size", "[unit]") {
  TemporaryFolder folder;
  const std::string bytes = payload({"a", Dtype::kF32, {1000}}, 3);
  const ByteSource pieces = [&](const ByteSink& sink) {
    for (std::size_t i = 0; i < bytes.size(); i += 7)
      sink(bytes_of(bytes).subspan(i,
                                   std::min<std::size_t>(7, bytes.size() - i)));
  };
  const TensorSpec spec{"a", Dtype::kF32, {1000}};
  write_safetensors(real_file_system(), folder.path() / "a", {{spec, pieces}});
  const SafetensorsFile file(folder.path() / "a");
  CHECK(std::ranges::equal(file.get("a").bytes, bytes_of(bytes)));
}

TEST_CASE("writer refuses wrong counts of bytes and wrong names", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  const auto path = folder.path() / "a";
  const TensorSpec spec{"a", Dtype::kU8, {2}};
  const auto write = [&](std::string_view bytes) {
    write_safetensors(files, path, {{spec, borrow_bytes(bytes_of(bytes))}});
  };
  CHECK_THROWS_AS(write("x"), titan::BugError);
  CHECK_THROWS_WITH(write("x"), Contains("\"a\": expected 2, got 1"));
  CHECK_THROWS_WITH(write("xyz"), Contains("expected at most 2 more, got 3"));
  SafetensorsWriter writer(files, path, {spec});
  writer.append(bytes_of("x"));
  CHECK_THROWS_WITH(writer.finish(), Contains("expected 2, got 1"));
  CHECK_THROWS_WITH(SafetensorsWriter(files, path, {spec, spec}),
                    Contains("got \"a\" twice"));
  CHECK_THROWS_WITH(
      SafetensorsWriter(files, path, {{"__metadata__", Dtype::kU8, {}}}),
      Contains("__metadata__"));
  CHECK_THROWS_AS(SafetensorsWriter(files, path, {{"a", Dtype::kU8, {-1}}}),
                  titan::BugError);
}

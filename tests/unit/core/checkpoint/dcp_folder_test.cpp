// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/dcp_folder.h"

#include <map>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/cast.h"
#include "core/checkpoint/decode.h"
#include "core/checkpoint/torch_file.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = TITAN_SOURCE_DIR "/tests/golden/torch_save";

using Values = std::vector<double>;

std::map<std::string, Values> read_all(const fs::path& path) {
  std::map<std::string, Values> values;
  for (const TensorSource& tensor : dcp_sources(path))
    values[tensor.spec.name] = decode(tensor.spec.dtype, collect_bytes(tensor));
  return values;
}

}  // namespace

TEST_CASE("tensors of a distributed checkpoint are read", "[unit]") {
  const auto values = read_all(kFixtures / "dcp");
  CHECK(values.size() == 3);
  CHECK(values.at("model.w") == Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(values.at("model.t") == Values{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(values.at("model.h") == Values{1, 2});
}

TEST_CASE("tensors in chunks are put together", "[unit]") {
  // Four ranks: rows in uneven slices, and a grid of 2 x 2.
  const auto values = read_all(kFixtures / "dcp_sharded");
  Values counting(35);
  for (std::size_t i = 0; i < counting.size(); ++i)
    counting[i] = static_cast<double>(i);
  CHECK(values.at("rows") == counting);
  CHECK(values.at("grid") == counting);
}

TEST_CASE("written distributed checkpoint is read back, every type", "[unit]") {
  const TorchFile types(kFixtures / "types.pt");
  std::vector<TensorSource> sources;
  for (const StridedTensor& tensor : types.content().tensors)
    sources.push_back({tensor.spec, [&tensor](const ByteSink& sink) {
                         read_elements(tensor, sink);
                       }});
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "deep" / "out";
  write_dcp_folder(real_file_system(), path, sources);
  const auto written = dcp_sources(path);
  REQUIRE(written.size() == sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK(written[i].spec.name == sources[i].spec.name);
    CHECK(written[i].spec.dtype == sources[i].spec.dtype);
    CHECK(written[i].spec.shape == sources[i].spec.shape);
    CHECK(collect_bytes(written[i]) == collect_bytes(sources[i]));
  }
  CHECK_THROWS_WITH(write_dcp_folder(real_file_system(), path, sources),
                    Contains("expected a path that does not exist"));
}

// Byte for byte what check_dcp.py has loaded with PyTorch.
TEST_CASE("written distributed checkpoint is the one that PyTorch read",
          "[unit]") {
  const TemporaryFolder folder;
  write_dcp_folder(real_file_system(),
                   folder.path() / "out",
                   dcp_sources(kFixtures / "dcp_sharded"));
  for (const char* const name : {".metadata", "__0_0.distcp"})
    CHECK(get_file(folder.path() / "out" / name) ==
          get_file(kFixtures / "dcp_written" / name));
}

TEST_CASE("damaged distributed checkpoint is refused", "[unit]") {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "dcp";
  fs::copy(kFixtures / "dcp", path);
  const std::string data = get_file(path / "__0_0.distcp");
  put_file(path / "__0_0.distcp", data.substr(0, data.size() / 2));
  CHECK_THROWS_WITH(read_all(path), Contains("truncated"));
  put_file(path / "__0_0.distcp", data);
  const std::string metadata = get_file(path / ".metadata");
  for (std::size_t at = 0; at < metadata.size(); ++at) {
    std::string bent = metadata;
    bent[at] = static_cast<char>(bent[at] ^ 0x7f);
    put_file(path / ".metadata", bent);
    try {
      read_all(path);
    } catch (const titan::UserError&) {
      // Read or refused; anything else fails the test.
    }
  }
  put_file(path / ".metadata", metadata);
  fs::remove(path / "__0_0.distcp");
  CHECK_THROWS_AS(read_all(path), titan::UserError);
}

// SPDX-License-Identifier: BSD-3-Clause
// The golden file is written by TensorBoard itself (golden/PROVENANCE.md), so
// equal bytes mean that it reads ours.
#include "core/observe/event_file.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/observe/scratch_folder.h"

namespace {

constexpr double kStart = 1'700'000'000.25;  // golden/make_events.py

std::string golden_bytes() {
  return titan::read_text_file(std::string(TITAN_SOURCE_DIR) +
                               "/tests/unit/core/observe/golden/"
                               "events.tfevents")
      .value();
}

std::vector<std::string> records_of(std::string_view stream) {
  std::vector<std::string> records;
  while (const auto data = titan::take_record(stream)) {
    records.emplace_back(*data);
  }
  return records;
}

}  // namespace

TEST_CASE("CRC-32C matches the vectors of RFC 3720", "[unit]") {
  CHECK(titan::crc32c("123456789") == 0xe3069283);
  CHECK(titan::crc32c("") == 0);
  CHECK(titan::crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(titan::crc32c(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("our events are byte for byte those of TensorBoard's writer",
          "[unit]") {
  titan::MetricRecord record;
  record.step = 301;
  record.add("loss", 5.125);
  record.add("lr", 8e-4);
  record.texts.emplace_back("note", "resumed from step 300");
  const std::vector<std::string> ours = {
      titan::encode_file_version(kStart),
      titan::encode_session_start(kStart, 301),
      titan::encode_metrics(kStart + 1, record)};
  const std::string golden = golden_bytes();
  CHECK(records_of(golden) == ours);

  std::string framed;
  for (const std::string& event : ours) framed += titan::frame_record(event);
  CHECK(framed == golden);
}

TEST_CASE("a record cut short ends the stream without an error", "[unit]") {
  const std::string golden = golden_bytes();
  const size_t num_records = records_of(golden).size();
  for (size_t size = 0; size < golden.size(); ++size) {
    CHECK(records_of(golden.substr(0, size)).size() < num_records);
  }
}

TEST_CASE("a flipped bit in a record is found", "[unit]") {
  const std::string framed = titan::frame_record("some data");
  for (size_t at = 0; at < framed.size(); ++at) {
    std::string damaged = framed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CHECK_THROWS_AS(records_of(damaged), titan::UserError);
  }
}

TEST_CASE("the TensorBoard sink writes version, restart and metrics",
          "[unit]") {
  const titan::test::ScratchFolder folder;
  titan::MetricRecord record;
  record.step = 8;
  record.add("loss", 2.5);
  titan::make_tensorboard_sink(folder.path(), 7)->write(record);

  const auto entry = *std::filesystem::directory_iterator(folder.path());
  CHECK_THAT(entry.path().filename().string(),
             Catch::StartsWith("events.out.tfevents."));
  const auto records = records_of(titan::read_text_file(entry.path()).value());
  REQUIRE(records.size() == 3);
  CHECK_THAT(records[0], Catch::EndsWith("brain.Event:2"));
  // After the key and the eight bytes of wall time: step 8, START.
  CHECK(records[1].substr(9) == std::string("\x10\x08\x3a\x02\x08\x01"));
  CHECK(records[2].substr(9) == titan::encode_metrics(0, record).substr(9));
}

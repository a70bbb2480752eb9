// SPDX-License-Identifier: BSD-3-Clause
// Checksums, framing and the few protobuf fields that TensorBoard reads.
#include "core/observe/event_file.h"

#include <array>
#include <bit>
#include <cstring>

#include <titan/error.h>

namespace titan {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  constexpr uint32_t kReversedPolynomial = 0x82f63b78;  // RFC 3720
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    }
    table[byte] = crc;
  }
  return table;
}

constexpr auto kCrcTable = make_crc_table();

static_assert(std::endian::native == std::endian::little,
              "fixed-width fields are copied as they lie in memory");

template <typename Number>
void append_fixed(std::string& out, Number value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

template <typename Number>
Number read_fixed(std::string_view bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// Protobuf wire format: key = field number << 3 | wire type.
enum WireType : uint64_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5
};

class Message {
 public:
  Message& varint(uint64_t field, int64_t value) {
    key(field, kVarint);
    append_varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& fixed64(uint64_t field, double value) {
    key(field, kFixed64);
    append_fixed(bytes_, value);
    return *this;
  }
  Message& fixed32(uint64_t field, float value) {
    key(field, kFixed32);
    append_fixed(bytes_, value);
    return *this;
  }
  Message& bytes(uint64_t field, std::string_view value) {
    key(field, kBytes);
    append_varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& message(uint64_t field, const Message& value) {
    return bytes(field, value.bytes_);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void key(uint64_t field, WireType type) { append_varint(field << 3 | type); }
  void append_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_.push_back(static_cast<char>(value | 0x80));
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

// Field numbers, by message.
namespace event {
constexpr uint64_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5,
                   kSessionLog = 7;
}
namespace summary {
constexpr uint64_t kValue = 1;
}
namespace summary_value {
constexpr uint64_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace session_log {
constexpr uint64_t kStatus = 1;
constexpr int64_t kStart = 1;
}  // namespace session_log
namespace tensor {
constexpr uint64_t kDtype = 1, kShape = 2, kStringValue = 8;
constexpr int64_t kStringType = 7;  // types.proto, DT_STRING
}  // namespace tensor

Message text_value(const std::string& tag, const std::string& value) {
  // TensorShapeProto{dim: {size: 1}}; SummaryMetadata{plugin_data:
  // {plugin_name: "text"}} makes the text tab show it.
  Message shape, content, plugin_data, metadata;
  shape.message(2, Message().varint(1, 1));
  content.varint(tensor::kDtype, tensor::kStringType)
      .message(tensor::kShape, shape)
      .bytes(tensor::kStringValue, value);
  plugin_data.bytes(1, "text");
  metadata.message(1, plugin_data);
  Message out;
  out.bytes(summary_value::kTag, tag)
      .message(summary_value::kTensor, content)
      .message(summary_value::kMetadata, metadata);
  return out;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc = kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) {
  constexpr uint32_t kMaskDelta = 0xa282ead8;  // tensorflow/core/lib/hash
  return std::rotr(crc32c(bytes), 15) + kMaskDelta;
}

std::string frame_record(std::string_view data) {
  std::string out;
  append_fixed(out, static_cast<uint64_t>(data.size()));
  append_fixed(out, masked_crc32c(out));
  out.append(data);
  append_fixed(out, masked_crc32c(data));
  return out;
}

std::optional<std::string_view> take_record(std::string_view& stream) {
  constexpr size_t kHeaderBytes = 12, kFooterBytes = 4;
  if (stream.size() < kHeaderBytes + kFooterBytes) return std::nullopt;
  TITAN_USER_CHECK(read_fixed<uint32_t>(stream.substr(8)) ==
                       masked_crc32c(stream.substr(0, 8)),
                   "[event file] checksum of a record's length differs");
  const auto size = read_fixed<uint64_t>(stream);
  if (size > stream.size() - kHeaderBytes - kFooterBytes) return std::nullopt;
  const std::string_view data = stream.substr(kHeaderBytes, size);
  TITAN_USER_CHECK(read_fixed<uint32_t>(stream.substr(kHeaderBytes + size)) ==
                       masked_crc32c(data),
                   "[event file] checksum of a record's data differs");
  stream.remove_prefix(kHeaderBytes + size + kFooterBytes);
  return data;
}

std::string encode_file_version(double wall_time) {
  return Message()
      .fixed64(event::kWallTime, wall_time)
      .bytes(event::kFileVersion, "brain.Event:2")
      .take();
}

std::string encode_session_start(double wall_time, int64_t first_step) {
  return Message()
      .fixed64(event::kWallTime, wall_time)
      .varint(event::kStep, first_step)
      .message(event::kSessionLog,
               Message().varint(session_log::kStatus, session_log::kStart))
      .take();
}

std::string encode_metrics(double wall_time, const MetricRecord& record) {
  Message values;
  for (const auto& [name, value] : record.values) {
    values.message(
        summary::kValue,
        Message()
            .bytes(summary_value::kTag, name)
            .fixed32(summary_value::kSimpleValue, static_cast<float>(value)));
  }
  for (const auto& [name, value] : record.texts) {
    values.message(summary::kValue, text_value(name, value));
  }
  return Message()
      .fixed64(event::kWallTime, wall_time)
      .varint(event::kStep, record.step)
      .message(event::kSummary, values)
      .take();
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// TensorBoard's event files without TensorFlow or protobuf.
//
//   file    := record*                      the first holds "brain.Event:2"
//   record  := length:u64le  masked_crc32c(length):u32le
//              data[length]  masked_crc32c(data):u32le      (TFRecord)
//   data    := protobuf tensorflow.Event
//
// Encodings: tensorflow/core/util/event.proto and framework/summary.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/observe/metrics.h"

namespace titan {

/// CRC-32C (Castagnoli, RFC 3720 B.4): "123456789" gives 0xe3069283.
uint32_t crc32c(std::string_view bytes);

/// The form TFRecord stores: rotated and offset, so that the CRC of data that
/// holds CRCs is not degenerate.
uint32_t masked_crc32c(std::string_view bytes);

/// Frames one record.
std::string frame_record(std::string_view data);

/// Takes the next record's data off the front of `stream` (the view points
/// into it). Nullopt at the end, or where a record is cut short; throws
/// UserError where a checksum differs.
std::optional<std::string_view> take_record(std::string_view& stream);

/// Serialised tensorflow.Event messages; `wall_time` in seconds since 1970.
std::string encode_file_version(double wall_time);
std::string encode_session_start(double wall_time, int64_t first_step);
std::string encode_metrics(double wall_time, const MetricRecord& record);

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/protobuf_reader.h"

#include <cstring>

#include <titan/error.h>

namespace titan {

uint64_t ProtobufReader::read_varint() {
  constexpr int kMostBytes = 10;
  uint64_t value = 0;
  for (int i = 0; i < kMostBytes; ++i) {
    TITAN_USER_CHECK(at_ < bytes_.size(),
                     '[',
                     where_,
                     "] protobuf: message is cut off at byte ",
                     at_);
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return value;
  }
  throw UserError(text('[',
                       where_,
                       "] protobuf: number: expected at most 10 bytes, got "
                       "more at byte ",
                       at_ - kMostBytes));
}

std::string_view ProtobufReader::take(uint64_t size) {
  TITAN_USER_CHECK(size <= bytes_.size() - at_,
                   '[',
                   where_,
                   "] protobuf: field ",
                   field_,
                   " at byte ",
                   at_,
                   ": expected at most the ",
                   bytes_.size() - at_,
                   " bytes that follow, got ",
                   size);
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

bool ProtobufReader::next() {
  if (at_ == bytes_.size()) return false;
  const size_t begin = at_;
  const uint64_t key = read_varint();
  field_ = static_cast<uint32_t>(key >> 3);
  kind_ = static_cast<int>(key & 7);
  TITAN_USER_CHECK(key >> 3 > 0 && key >> 3 < (1u << 29),
                   '[',
                   where_,
                   "] protobuf: field number at byte ",
                   begin,
                   ": expected 1 to 536870911, got ",
                   key >> 3);
  if (kind_ == kVarint)
    number_ = read_varint();
  else if (kind_ == kFixed64)
    content_ = take(8);
  else if (kind_ == kBytes)
    content_ = take(read_varint());
  else if (kind_ == kFixed32)
    content_ = take(4);
  else
    throw UserError(text('[',
                         where_,
                         "] protobuf: wire type at byte ",
                         begin,
                         ": expected 0, 1, 2 or 5, got ",
                         kind_));
  return true;
}

void ProtobufReader::require(Kind kind, const char* name) const {
  TITAN_USER_CHECK(kind_ == kind,
                   '[',
                   where_,
                   "] protobuf: field ",
                   field_,
                   ": expected ",
                   name,
                   ", got wire type ",
                   kind_);
}

uint64_t ProtobufReader::varint() const {
  require(kVarint, "a number");
  return number_;
}

float ProtobufReader::float32() const {
  require(kFixed32, "a float");
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i)
    bits |= static_cast<uint32_t>(static_cast<unsigned char>(content_[i]))
            << (8 * i);
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string_view ProtobufReader::bytes() const {
  require(kBytes, "bytes");
  return content_;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Protocol Buffers' wire format, as far as a SentencePiece model needs it: one
// message, field by field, never past its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace titan {

/// A cursor over the fields of one message; the bytes must outlive it.
///   while (reader.next())
///     if (reader.field() == 1) use(reader.bytes());
/// A field that is not asked for is skipped. UserError (tag `where`): the
/// message is cut off, a number is too long, or a field is of another kind.
class ProtobufReader {
 public:
  ProtobufReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  /// Moves to the next field; false at the end.
  bool next();
  uint32_t field() const { return field_; }

  uint64_t varint() const;  ///< int32, bool, enum.
  float float32() const;
  std::string_view bytes() const;  ///< string, bytes, message.

 private:
  enum Kind { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  uint64_t read_varint();
  std::string_view take(uint64_t size);
  void require(Kind kind, const char* name) const;

  std::string_view bytes_;
  std::string where_;
  size_t at_ = 0;
  uint32_t field_ = 0;
  int kind_ = kVarint;
  uint64_t number_ = 0;
  std::string_view content_;
};

}  // namespace titan

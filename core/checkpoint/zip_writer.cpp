// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/zip_writer.h"

#include <utility>

#include <zlib.h>  // crc32

namespace titan::checkpoint {
namespace {

constexpr std::uint64_t kRecordAlignment = 64;
constexpr std::uint64_t kHasDescriptorAndUtf8 = 0x0808;
constexpr std::uint64_t kVersionNeeded = 45;  // zip64
constexpr std::uint64_t kAllOnes32 = 0xffffffff;
constexpr std::uint64_t kPaddingExtra = 0x4246;  // "FB", as PyTorch marks it
constexpr std::uint64_t kNewYear1980 = 33;       // a fixed date: same bytes

}  // namespace

void put_number(std::string& out, std::uint64_t value, int num_bytes) {
  for (int i = 0; i < num_bytes; ++i)
    out.push_back(i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0');
}

void ZipWriter::begin(std::string name) {
  current_ = {std::move(name), offset_, 0, 0};
  std::string header;
  put_number(header, 0x04034b50, 4);
  put_number(header, kVersionNeeded, 2);
  put_number(header, kHasDescriptorAndUtf8, 2);
  put_number(header, 0, 2);  // stored
  put_number(header, 0, 2);  // time
  put_number(header, kNewYear1980, 2);
  put_number(header, 0, 4);           // checksum: in the descriptor
  put_number(header, kAllOnes32, 4);  // sizes: in the zip64 extra
  put_number(header, kAllOnes32, 4);
  put_number(header, current_.name.size(), 2);
  const std::uint64_t fixed =
      offset_ + header.size() + 2 + current_.name.size() + 20 + 4;
  const std::uint64_t padding =
      (kRecordAlignment - fixed % kRecordAlignment) % kRecordAlignment;
  put_number(header, 20 + 4 + padding, 2);
  header += current_.name;
  put_number(header, 1, 2);  // zip64: 16 bytes, known in the descriptor
  put_number(header, 16, 2);
  put_number(header, 0, 8);
  put_number(header, 0, 8);
  put_number(header, kPaddingExtra, 2);
  put_number(header, padding, 2);
  header.append(padding, 'Z');
  put(header);
  current_.data_offset = offset_;
  checksum_ = 0;
}

void ZipWriter::append(std::span<const std::byte> bytes) {
  checksum_ = ::crc32_z(
      checksum_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  sink_(bytes);
  offset_ += bytes.size();
}

void ZipWriter::end() {
  current_.size = offset_ - current_.data_offset;
  std::string descriptor;
  put_number(descriptor, 0x08074b50, 4);
  put_number(descriptor, checksum_, 4);
  put_number(descriptor, current_.size, 8);
  put_number(descriptor, current_.size, 8);
  put(descriptor);
  add_to_directory();
}

void ZipWriter::entry(const std::string& name, std::string_view content) {
  begin(name);
  append(std::as_bytes(std::span(content)));
  end();
}

void ZipWriter::finish() {
  const std::uint64_t begin = offset_;
  put(directory_);
  const std::uint64_t record = offset_;
  std::string end;
  put_number(end, 0x06064b50, 4);
  put_number(end, 44, 8);  // the rest of this record
  put_number(end, kVersionNeeded, 2);
  put_number(end, kVersionNeeded, 2);
  put_number(end, 0, 8);  // disks
  put_number(end, count_, 8);
  put_number(end, count_, 8);
  put_number(end, directory_.size(), 8);
  put_number(end, begin, 8);
  put_number(end, 0x07064b50, 4);
  put_number(end, 0, 4);
  put_number(end, record, 8);
  put_number(end, 1, 4);
  put_number(end, 0x06054b50, 4);
  put_number(end, 0, 4);
  put_number(end, 0xffff, 2);
  put_number(end, 0xffff, 2);
  put_number(end, kAllOnes32, 4);
  put_number(end, kAllOnes32, 4);
  put_number(end, 0, 2);
  put(end);
}

void ZipWriter::put(std::string_view bytes) {
  sink_(std::as_bytes(std::span(bytes)));
  offset_ += bytes.size();
}

void ZipWriter::add_to_directory() {
  std::string& out = directory_;
  put_number(out, 0x02014b50, 4);
  put_number(out, kVersionNeeded, 2);
  put_number(out, kVersionNeeded, 2);
  put_number(out, kHasDescriptorAndUtf8, 2);
  put_number(out, 0, 2);
  put_number(out, 0, 2);
  put_number(out, kNewYear1980, 2);
  put_number(out, checksum_, 4);
  put_number(out, kAllOnes32, 4);
  put_number(out, kAllOnes32, 4);
  put_number(out, current_.name.size(), 2);
  put_number(out, 28, 2);
  put_number(out, 0, 10);  // comment, disk, attributes
  put_number(out, kAllOnes32, 4);
  out += current_.name;
  put_number(out, 1, 2);
  put_number(out, 24, 2);
  put_number(out, current_.size, 8);
  put_number(out, current_.size, 8);
  put_number(out, current_.header_offset, 8);
  ++count_;
}

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Offsets and numbers are those of PKWARE's APPNOTE.TXT 6.3.10, section 4.3.
#include "core/checkpoint/zip_archive.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryHeader = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint32_t kZip64End = 0x06064b50;
constexpr std::uint32_t kZip64Locator = 0x07064b50;

constexpr std::uint64_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kDirectoryHeaderBytes = 46;
constexpr std::uint64_t kDirectoryEndBytes = 22;
constexpr std::uint64_t kZip64EndBytes = 56;
constexpr std::uint64_t kZip64LocatorBytes = 20;
constexpr std::uint64_t kMaxCommentBytes = 65535;

constexpr std::uint64_t kSeeZip64 = 0xffffffff;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint64_t kEncrypted = 1;

struct Directory {
  std::uint64_t count = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Entry {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t header_offset = 0;
};

class ZipReader {
 public:
  ZipReader(std::string_view where, std::span<const std::byte> bytes)
      : where_(where), bytes_(bytes) {}

  ZipEntries read() {
    directory_ = find_directory();
    check(directory_.offset <= bytes_.size() &&
              directory_.size <= bytes_.size() - directory_.offset,
          "zip directory: expected it within ",
          bytes_.size(),
          " bytes, got offset ",
          directory_.offset,
          ", size ",
          directory_.size);
    check(directory_.count <= directory_.size / kDirectoryHeaderBytes,
          "zip directory: expected room for ",
          directory_.count,
          " entries, got ",
          directory_.size,
          " bytes");
    ZipEntries entries;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
    std::uint64_t at = directory_.offset;
    for (std::uint64_t i = 0; i < directory_.count; ++i) {
      const Entry entry = read_directory_entry(at);
      const std::uint64_t begin = find_data(entry);
      check(
          entries.emplace(entry.name, bytes_.subspan(begin, entry.size)).second,
          "zip entries: expected each once, got \"",
          entry.name,
          "\" twice");
      extents.emplace_back(entry.header_offset, begin + entry.size);
    }
    require_apart(extents);
    return entries;
  }

 private:
  template <typename... Parts>
  void check(bool condition, const Parts&... parts) const {
    TITAN_USER_CHECK(condition, '[', where_, "] ", titan::text(parts...));
  }

  // Any read past the end is a truncated file, wherever it happens.
  std::uint64_t number(std::uint64_t offset, unsigned num_bytes) const {
    check(offset <= bytes_.size() && num_bytes <= bytes_.size() - offset,
          "zip is truncated: expected ",
          num_bytes,
          " bytes at ",
          offset,
          ", got a file of ",
          bytes_.size());
    std::uint64_t value = 0;
    for (unsigned i = num_bytes; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[offset + i]);
    return value;
  }

  std::string text_at(std::uint64_t offset, std::uint64_t size) const {
    check(offset <= bytes_.size() && size <= bytes_.size() - offset,
          "zip is truncated: expected a name of ",
          size,
          " bytes at ",
          offset);
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }

  std::uint64_t find_end_record() const {
    const std::uint64_t size = bytes_.size();
    const std::uint64_t farthest =
        std::min(size, kDirectoryEndBytes + kMaxCommentBytes);
    for (std::uint64_t back = kDirectoryEndBytes; back <= farthest; ++back)
      if (number(size - back, 4) == kDirectoryEnd &&
          number(size - back + 20, 2) == back - kDirectoryEndBytes)
        return size - back;
    check(false,
          "zip is truncated: expected an end-of-directory record in the last ",
          farthest,
          " bytes, got none");
    return 0;
  }

  Directory find_directory() const {
    const std::uint64_t end = find_end_record();
    Directory directory{
        number(end + 10, 2), number(end + 16, 4), number(end + 12, 4)};
    const bool has_zip64 = end >= kZip64LocatorBytes &&
                           number(end - kZip64LocatorBytes, 4) == kZip64Locator;
    if (!has_zip64) return directory;
    const std::uint64_t record = number(end - kZip64LocatorBytes + 8, 8);
    check(record <= bytes_.size() && kZip64EndBytes <= bytes_.size() - record &&
              number(record, 4) == kZip64End,
          "zip64 record: expected one at the place that its locator names, "
          "got ",
          record);
    return {
        number(record + 32, 8), number(record + 48, 8), number(record + 40, 8)};
  }

  // Moves `at` behind the entry.
  Entry read_directory_entry(std::uint64_t& at) const {
    check(number(at, 4) == kDirectoryHeader,
          "zip directory: expected an entry at ",
          at,
          ", got other bytes");
    const std::uint64_t name_bytes = number(at + 28, 2);
    const std::uint64_t extra_bytes = number(at + 30, 2);
    const std::uint64_t extra = at + kDirectoryHeaderBytes + name_bytes;
    Entry entry{text_at(at + kDirectoryHeaderBytes, name_bytes),
                number(at + 24, 4),
                number(at + 20, 4),
                number(at + 42, 4)};
    check(number(at + 10, 2) == 0 && (number(at + 8, 2) & kEncrypted) == 0,
          "zip entry \"",
          entry.name,
          "\": expected stored bytes, got compressed or encrypted ones");
    read_zip64_sizes(entry, extra, extra_bytes);
    check(entry.size == entry.stored_size,
          "zip entry \"",
          entry.name,
          "\" size: expected ",
          entry.stored_size,
          " as it is stored, got ",
          entry.size);
    at = extra + extra_bytes + number(at + 32, 2);
    return entry;
  }

  // Fields of all ones are found here, in this order.
  void read_zip64_sizes(Entry& entry,
                        std::uint64_t extra,
                        std::uint64_t extra_bytes) const {
    std::uint64_t left = extra_bytes;
    while (left >= 4) {
      const std::uint64_t size = number(extra + 2, 2);
      check(size <= left - 4,
            "zip entry \"",
            entry.name,
            "\" extra field: expected at most ",
            left - 4,
            " bytes, got ",
            size);
      if (number(extra, 2) == kZip64Extra) {
        std::uint64_t at = extra + 4;
        const std::uint64_t end = at + size;
        for (std::uint64_t* field :
             {&entry.size, &entry.stored_size, &entry.header_offset}) {
          if (*field != kSeeZip64 || end - at < 8) continue;
          *field = number(at, 8);
          at += 8;
        }
      }
      extra += 4 + size;
      left -= 4 + size;
    }
  }

  std::uint64_t find_data(const Entry& entry) const {
    const std::uint64_t at = entry.header_offset;
    check(at < directory_.offset && number(at, 4) == kLocalHeader,
          "zip entry \"",
          entry.name,
          "\": expected its header before the directory, got offset ",
          at);
    const std::uint64_t name_bytes = number(at + 26, 2);
    check(text_at(at + kLocalHeaderBytes, name_bytes) == entry.name,
          "zip entry \"",
          entry.name,
          "\": expected the same name in its header, got another");
    const std::uint64_t begin =
        at + kLocalHeaderBytes + name_bytes + number(at + 28, 2);
    check(begin <= directory_.offset && entry.size <= directory_.offset - begin,
          "zip entry \"",
          entry.name,
          "\" size: expected it to end before the directory at ",
          directory_.offset,
          ", got ",
          entry.size,
          " bytes at ",
          begin);
    return begin;
  }

  // Bytes that belong to two entries would let a small file look huge.
  void require_apart(
      std::vector<std::pair<std::uint64_t, std::uint64_t>>& extents) const {
    std::ranges::sort(extents);
    for (std::size_t i = 1; i < extents.size(); ++i)
      check(extents[i].first >= extents[i - 1].second,
            "zip entries overlap: expected the next one after byte ",
            extents[i - 1].second,
            ", got ",
            extents[i].first);
  }

  std::string where_;
  std::span<const std::byte> bytes_;
  Directory directory_;
};

}  // namespace

ZipEntries read_zip(std::string_view where, std::span<const std::byte> bytes) {
  return ZipReader(where, bytes).read();
}

}  // namespace titan::checkpoint

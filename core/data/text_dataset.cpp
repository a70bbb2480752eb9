// SPDX-License-Identifier: BSD-3-Clause
// Text: a file is a document, its bytes taken as they are. So that lanes can
// share one large file, and memory does not grow with it, a file is cut into
// pieces of about unit_size bytes, each tokenised alone: no byte is lost or
// read twice. A cut is made behind a line end, else behind a space, else
// between characters; it costs the context across it, one target, and, where
// a tokenizer would have merged over it, a token. Pieces hold several rows, so
// cuts are rare. The last part of a file, from byte floor(size * (1 -
// fraction)) on, moved back to a character's start, is the validation split.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/data/byte_reader.h"
#include "core/data/dataset.h"
#include "core/data/hash.h"
#include "core/data/read_report.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

// Tokens have 4 bytes or so: a piece holds at least 4 rows, usually 64.
constexpr int64_t kSmallestPieceBytesPerToken = 16;
constexpr int64_t kUsualPieceBytesPerToken = 256;
constexpr int64_t kSmallestPiece = 4096;
constexpr int64_t kUsualPiece = 65536;

// How far before the wanted place a cut may lie.
constexpr int64_t kCutWindow = 4096;

// Where to cut `text` (the bytes before a wanted place): the size of what
// stays before the cut.
size_t find_cut(std::string_view text) {
  if (text.empty()) return 0;
  const auto is_space = [](char c) { return c == ' ' || c == '\n'; };
  for (const char wanted : {'\n', ' '})
    // Not inside white space, which tokenizers take as one.
    for (size_t i = text.size() - 1; i-- > 0;)
      if (text[i] == wanted && !is_space(text[i + 1])) return i + 1;
  size_t cut = text.size();
  // A character has at most three continuation bytes. Whether the byte behind
  // continues one cannot be seen here, so the last character moves as a whole.
  for (int i = 0; i < 3 && cut > 1 && is_utf8_continuation(text[cut - 1]); ++i)
    --cut;
  return cut > 1 ? cut - 1 : text.size();
}

std::string read_range(const std::string& path, int64_t begin, int64_t end) {
  std::string bytes(static_cast<size_t>(end - begin), '\0');
  const auto file = open_plain(path, begin);
  const size_t size = file->read(bytes);
  TITAN_USER_CHECK(
      size == bytes.size(), "[data] file became shorter while in use: ", path);
  return bytes;
}

class TextDataset final : public Dataset {
 public:
  explicit TextDataset(const DatasetOptions& options) : options_(options) {
    int64_t total = 0;
    for (const std::string& file : options_.files) {
      compressions_.push_back(detect_compression(file));
      ranges_.push_back(range_of(file, compressions_.back()));
      total += ranges_.back().end - ranges_.back().begin;
      fingerprint_ = combine_hash(fingerprint_, fingerprint_of_file(file));
    }
    const int64_t largest =
        options_.keeps_whole
            ? options_.block_bytes
            : std::clamp(options_.seq_len * kUsualPieceBytesPerToken,
                         std::min(kUsualPiece, options_.block_bytes),
                         options_.block_bytes);
    size_ = unit_size(total,
                      options_.num_lanes,
                      std::max(options_.seq_len * kSmallestPieceBytesPerToken,
                               kSmallestPiece),
                      largest);
    const auto num_files = static_cast<int64_t>(options_.files.size());
    const int64_t num_shares = (options_.num_lanes + num_files - 1) / num_files;
    for (size_t file = 0; file < options_.files.size(); ++file)
      add_units(static_cast<int32_t>(file), num_shares);
    for (const int64_t value : {size_, num_shares, total})
      fingerprint_ = combine_hash(fingerprint_, static_cast<uint64_t>(value));
  }

  int64_t num_units() const override {
    return static_cast<int64_t>(units_.size());
  }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::unique_ptr<UnitReader> open(int64_t unit) const override;
  std::string describe(const RecordPlace& place) const override {
    if (place.offset == 0) return options_.files[place.file];
    return text(options_.files[place.file], " from byte ", place.offset);
  }

  const DatasetOptions& options() const { return options_; }
  int64_t piece_bytes() const { return size_; }

  std::unique_ptr<ByteReader> decompress(const FileUnit& unit) const {
    return open_compressed(options_.files[unit.file], compressions_[unit.file]);
  }

  Record read_piece(const FileUnit& unit) const {
    const int64_t begin = cut_near(unit.file, unit.begin);
    const int64_t end = cut_near(unit.file, unit.end);
    Record record;
    record.place = {unit.file, begin};
    record.begins_document = begin == ranges_[unit.file].begin;
    record.ends_document = end == ranges_[unit.file].end;
    if (begin < end)
      record.content = read_range(options_.files[unit.file], begin, end);
    return record;
  }

 private:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  Range range_of(const std::string& path, Compression compression) const {
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
    const double fraction = options_.validation_fraction;
    if (fraction == 0) return {0, size};
    TITAN_USER_CHECK(compression == Compression::kNone,
                     "[data.validation_fraction] expected text that is not "
                     "compressed (its end is held out), got ",
                     path,
                     ". Set data.validation_files instead");
    auto cut = static_cast<int64_t>(static_cast<double>(size) * (1 - fraction));
    // Other bytes than UTF-8 are kept whole by the bytes tokenizer wherever
    // the cut is.
    const int64_t end = std::min<int64_t>(cut + 1, size);
    const std::string near =
        read_range(path, std::max<int64_t>(cut - 3, 0), end);
    for (size_t back = 1; back <= near.size() && back <= 4 && cut < size;
         ++back)
      if (!is_utf8_continuation(near[near.size() - back])) {
        cut -= static_cast<int64_t>(back) - 1;
        break;
      }
    return options_.split == Split::kTrain ? Range{0, cut} : Range{cut, size};
  }

  void add_units(int32_t file, int64_t num_shares) {
    if (compressions_[file] != Compression::kNone) {
      for (int64_t share = 0; share < num_shares; ++share)
        units_.push_back({file, 0, 0, share, num_shares});
      return;
    }
    const auto [begin, end] = ranges_[file];
    for (int64_t at = begin; at < end; at += size_)
      units_.push_back({file, at, std::min(at + size_, end), 0, 0});
  }

  // Both neighbours of a place compute the same cut from the bytes before it.
  int64_t cut_near(int32_t file, int64_t place) const {
    const auto [begin, end] = ranges_[file];
    if (place == begin || place == end) return place;
    const int64_t from =
        std::max(begin, place - std::min(kCutWindow, size_ / 2));
    const std::string before = read_range(options_.files[file], from, place);
    return from + static_cast<int64_t>(find_cut(before));
  }

  DatasetOptions options_;
  std::vector<Compression> compressions_;
  std::vector<Range> ranges_;
  std::vector<FileUnit> units_;
  int64_t size_ = 0;
  uint64_t fingerprint_ = 0;
};

class PlainTextReader final : public UnitReader {
 public:
  PlainTextReader(const TextDataset& dataset, const FileUnit& unit)
      : dataset_(dataset), unit_(unit) {}

  bool next_block(std::vector<Record>& records) override {
    if (is_read_) return false;
    is_read_ = true;
    Record record = dataset_.read_piece(unit_);
    if (record.content.empty()) return true;
    dataset_.options().report->count(&ReadCounts::num_records);
    records.push_back(std::move(record));
    return true;
  }

 private:
  const TextDataset& dataset_;
  FileUnit unit_;
  bool is_read_ = false;
};

// Every num_shares-th piece of a compressed file, a block each.
class CompressedTextReader final : public UnitReader {
 public:
  CompressedTextReader(const TextDataset& dataset, const FileUnit& unit)
      : dataset_(dataset), unit_(unit), bytes_(dataset.decompress(unit)) {}

  bool next_block(std::vector<Record>& records) override {
    Record record;
    do {
      if (!next_piece(record)) return false;
    } while ((piece_++ % unit_.num_shares) != unit_.share);
    dataset_.options().report->count(&ReadCounts::num_records);
    records.push_back(std::move(record));
    return true;
  }

 private:
  bool next_piece(Record& record) {
    const auto wanted = static_cast<size_t>(dataset_.piece_bytes());
    while (!has_ended_ && ahead_.size() <= wanted) {
      const size_t before = ahead_.size();
      ahead_.resize(before + 65536);
      const size_t size = bytes_->read(std::span(ahead_).subspan(before));
      ahead_.resize(before + size);
      has_ended_ = size == 0;
    }
    if (ahead_.empty()) return false;
    const bool is_last = has_ended_ && ahead_.size() <= wanted;
    const size_t size =
        is_last ? ahead_.size()
                : find_cut(std::string_view(ahead_).substr(0, wanted));
    record.content = ahead_.substr(0, size);
    record.place = {unit_.file, offset_};
    record.begins_document = offset_ == 0;
    ahead_.erase(0, size);
    offset_ += static_cast<int64_t>(size);
    record.ends_document = has_ended_ && ahead_.empty();
    return true;
  }

  const TextDataset& dataset_;
  FileUnit unit_;
  std::unique_ptr<ByteReader> bytes_;
  std::string ahead_;
  int64_t offset_ = 0;
  int64_t piece_ = 0;
  bool has_ended_ = false;
};

std::unique_ptr<UnitReader> TextDataset::open(int64_t unit) const {
  const FileUnit& range = units_[static_cast<size_t>(unit)];
  if (range.num_shares == 0)
    return std::make_unique<PlainTextReader>(*this, range);
  return std::make_unique<CompressedTextReader>(*this, range);
}

}  // namespace

std::unique_ptr<Dataset> open_text_dataset(const DatasetOptions& options) {
  return std::make_unique<TextDataset>(options);
}

}  // namespace titan

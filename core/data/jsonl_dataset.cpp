// SPDX-License-Identifier: BSD-3-Clause
// What happens to a line of JSONL:
//   an object whose field is a text that is not empty   a record
//   only white space                                    passed over, counted
//   the field is the empty text                         passed over, counted
//   anything else (not UTF-8, not JSON, a lone          a bad record: error, or
//   surrogate, not an object, no field, null, ...)      skipped and counted
// A CR before the LF belongs to the line's end; the last LF may be missing.
// Without a field the record is the line, and its JSON the mapper's to judge.
//
// A plain file is cut into ranges of bytes; a line belongs to the range in
// which it begins. A compressed file has no offsets to begin at: where there
// are fewer files than lanes, several units read the whole of one and keep
// every n-th block each. Prepared token files cost less.
#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/data/dataset.h"
#include "core/data/hash.h"
#include "core/data/line_reader.h"
#include "core/data/read_report.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

using Json = nlohmann::json;

constexpr int64_t kSmallestUnit = 4096;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Moves the text out of `line`; the result says why there is none.
std::string parse_line(std::string_view line,
                       const std::string& field,
                       std::string& content) {
  if (line.size() >= kMaxLineBytes)
    return text("line is too long: expected less than ",
                kMaxLineBytes,
                " bytes. Is it JSONL?");
  if (const auto bad = find_invalid_utf8(line))
    return text("line is not UTF-8: ill-formed byte at column ", *bad + 1);
  if (field.empty()) {
    content = line;
    return {};
  }
  Json json;
  try {
    json = Json::parse(line);
  } catch (const Json::exception& error) {
    // Among these is the lone surrogate: no text of Unicode has one.
    return text("line is not JSON: ", error.what());
  }
  if (!json.is_object())
    return text("expected an object, got ", json.type_name());
  const auto value = json.find(field);
  if (value == json.end()) return text("no field \"", field, '"');
  if (!value->is_string())
    return text(
        "field \"", field, "\": expected a string, got ", value->type_name());
  content = std::move(value->get_ref<std::string&>());
  return {};
}

class JsonlDataset final : public Dataset {
 public:
  explicit JsonlDataset(const DatasetOptions& options) : options_(options) {
    int64_t total = 0;
    for (const std::string& file : options_.files) {
      compressions_.push_back(detect_compression(file));
      total += static_cast<int64_t>(std::filesystem::file_size(file));
      fingerprint_ = combine_hash(fingerprint_, fingerprint_of_file(file));
    }
    const int64_t size = unit_size(
        total, options_.num_lanes, kSmallestUnit, options_.block_bytes);
    const auto num_files = static_cast<int64_t>(options_.files.size());
    const int64_t num_shares = (options_.num_lanes + num_files - 1) / num_files;
    for (size_t file = 0; file < options_.files.size(); ++file)
      add_units(static_cast<int32_t>(file), size, num_shares);
    for (const int64_t value : {size,
                                num_shares,
                                options_.block_bytes,
                                static_cast<int64_t>(options_.split)})
      fingerprint_ = combine_hash(fingerprint_, static_cast<uint64_t>(value));
    fingerprint_ = combine_hash(fingerprint_, hash_bytes(options_.field));
  }

  int64_t num_units() const override {
    return static_cast<int64_t>(units_.size());
  }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::unique_ptr<UnitReader> open(int64_t unit) const override;
  std::string describe(const RecordPlace& place) const override;

  const DatasetOptions& options() const { return options_; }

  LineReader open_lines(const FileUnit& unit) const {
    const std::string& path = options_.files[unit.file];
    if (unit.num_shares > 0)
      return LineReader(open_compressed(path, compressions_[unit.file]));
    // One byte early: a range that begins right behind a LF owns that line.
    const int64_t from = std::max<int64_t>(unit.begin - 1, 0);
    LineReader lines(open_plain(path, from), from, unit.end);
    if (unit.begin > 0) lines.skip_rest_of_line();
    return lines;
  }

 private:
  void add_units(int32_t file, int64_t size, int64_t num_shares) {
    if (compressions_[file] != Compression::kNone) {
      for (int64_t share = 0; share < num_shares; ++share)
        units_.push_back({file, 0, 0, share, num_shares});
      return;
    }
    const auto end =
        static_cast<int64_t>(std::filesystem::file_size(options_.files[file]));
    for (int64_t begin = 0; begin < end; begin += size)
      units_.push_back({file, begin, std::min(begin + size, end), 0, 0});
  }

  DatasetOptions options_;
  std::vector<Compression> compressions_;
  std::vector<FileUnit> units_;
  uint64_t fingerprint_ = 0;
};

class JsonlReader final : public UnitReader {
 public:
  JsonlReader(const JsonlDataset& dataset, const FileUnit& unit)
      : dataset_(dataset), unit_(unit), lines_(dataset.open_lines(unit)) {}

  bool next_block(std::vector<Record>& records) override {
    return read_block(&records);
  }
  bool skip_block() override { return read_block(nullptr); }

 private:
  bool is_own_block() const {
    return unit_.num_shares == 0 ||
           file_block_ % unit_.num_shares == unit_.share;
  }

  // A plain range is one block, whatever the lengths of its lines.
  bool read_block(std::vector<Record>* records) {
    while (!is_own_block())
      if (!read_lines(nullptr)) return false;
    return read_lines(records);
  }

  bool read_lines(std::vector<Record>* records) {
    int64_t size = 0;
    bool has_lines = false;
    std::string_view line;
    while ((unit_.num_shares == 0 || size < dataset_.options().block_bytes) &&
           lines_.next(line)) {
      has_lines = true;
      size += static_cast<int64_t>(line.size()) + 1;
      if (records != nullptr) add_record(line, *records);
    }
    ++file_block_;
    return has_lines;
  }

  void add_record(std::string_view line, std::vector<Record>& records) {
    ReadReport& report = *dataset_.options().report;
    const RecordPlace place{unit_.file, lines_.offset()};
    // Editors on Windows begin UTF-8 files with a byte order mark.
    if (place.offset == 0 && line.starts_with(kByteOrderMark))
      line.remove_prefix(kByteOrderMark.size());
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      return report.count(&ReadCounts::num_blank_lines);
    Record record;
    record.place = place;
    const std::string problem =
        parse_line(line, dataset_.options().field, record.content);
    if (!problem.empty()) {
      report.add_bad(dataset_, place, problem);
    } else if (record.content.empty()) {
      report.count(&ReadCounts::num_empty_records);
    } else if (is_in_split(record.content)) {
      report.count(&ReadCounts::num_records);
      records.push_back(std::move(record));
    }
  }

  bool is_in_split(std::string_view content) const {
    const DatasetOptions& options = dataset_.options();
    const double fraction = options.validation_fraction;
    return fraction == 0 || is_held_out(content, fraction) ==
                                (options.split == Split::kValidation);
  }

  const JsonlDataset& dataset_;
  FileUnit unit_;
  LineReader lines_;
  int64_t file_block_ = 0;
};

std::unique_ptr<UnitReader> JsonlDataset::open(int64_t unit) const {
  return std::make_unique<JsonlReader>(*this,
                                       units_[static_cast<size_t>(unit)]);
}

std::string JsonlDataset::describe(const RecordPlace& place) const {
  FileUnit whole;
  whole.file = place.file;
  whole.end = place.offset;
  whole.num_shares = compressions_[place.file] == Compression::kNone ? 0 : 1;
  LineReader lines = open_lines(whole);
  std::string_view line;
  int64_t number = 1;
  while (lines.next(line) && lines.offset() < place.offset) ++number;
  return text(options_.files[place.file], ':', number);
}

}  // namespace

std::unique_ptr<Dataset> open_jsonl_dataset(const DatasetOptions& options) {
  return std::make_unique<JsonlDataset>(options);
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/token_dataset.h"

#include <algorithm>

#include "core/data/hash.h"
#include "core/data/read_report.h"
#include "core/data/token_file.h"

namespace titan {
namespace {

class TokenDataset final : public Dataset {
 public:
  explicit TokenDataset(const DatasetOptions& options) : options_(options) {
    int64_t total = 0;
    for (const std::string& path : options_.files) {
      files_.push_back(std::make_unique<const TokenFile>(path));
      ranges_.push_back(range_of(*files_.back()));
      total += ranges_.back().end - ranges_.back().begin;
      fingerprint_ = combine_hash(fingerprint_, fingerprint_of_file(path));
    }
    // Whole rows, so that a file without documents fills rows without a cut.
    const int64_t seq_len = options_.seq_len;
    const int64_t size =
        unit_size(total,
                  options_.num_lanes,
                  4 * seq_len,
                  std::max<int64_t>(options_.block_bytes / 4, seq_len));
    size_ = (size + seq_len - 1) / seq_len * seq_len;
    for (size_t file = 0; file < files_.size(); ++file) {
      const auto [begin, end] = ranges_[file];
      for (int64_t at = begin; at < end; at += size_)
        units_.push_back(
            {static_cast<int32_t>(file), at, std::min(at + size_, end), 0, 0});
    }
    for (const int64_t value : {size_, total})
      fingerprint_ = combine_hash(fingerprint_, static_cast<uint64_t>(value));
  }

  int64_t num_units() const override {
    return static_cast<int64_t>(units_.size());
  }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::string describe(const RecordPlace& place) const override {
    return text(options_.files[place.file], ", token ", place.offset);
  }
  std::unique_ptr<UnitReader> open(int64_t unit) const override;

  void read(const FileUnit& unit, std::vector<Record>& records) const {
    const TokenFile& file = *files_[unit.file];
    const int64_t limit = ranges_[unit.file].end;
    if (file.num_documents() == 0) {
      add_piece(unit.file, unit.begin, unit.end, limit, records);
      return;
    }
    // A piece belongs to the unit in which it begins.
    for (int64_t document = file.document_at(unit.begin);
         document < file.num_documents();
         ++document) {
      const int64_t begin = file.document_start(document);
      if (begin >= unit.end) break;
      const int64_t end = document + 1 < file.num_documents()
                              ? file.document_start(document + 1)
                              : limit;
      TITAN_USER_CHECK(end > begin || end == limit,
                       "[data] token file's index is not ascending: ",
                       options_.files[unit.file]);
      const int64_t skipped = std::max<int64_t>(unit.begin - begin, 0);
      for (int64_t at = begin + (skipped + size_ - 1) / size_ * size_;
           at < std::min(end, unit.end);
           at += size_)
        add_piece(unit.file, at, std::min(at + size_, end), end, records);
    }
  }

 private:
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  Range range_of(const TokenFile& file) const {
    const double fraction = options_.validation_fraction;
    const int64_t size = file.num_tokens();
    if (fraction == 0) return {0, size};
    auto cut = static_cast<int64_t>(static_cast<double>(size) * (1 - fraction));
    if (file.num_documents() > 0)
      cut = file.document_start(file.document_at(cut));
    return options_.split == Split::kTrain ? Range{0, cut} : Range{cut, size};
  }

  void add_piece(int32_t file,
                 int64_t begin,
                 int64_t end,
                 int64_t document_end,
                 std::vector<Record>& records) const {
    Record record;
    record.place = {file, begin};
    record.has_lookahead = end < document_end;
    files_[file]->read(begin, end + (record.has_lookahead ? 1 : 0), record.ids);
    options_.report->count(&ReadCounts::num_records);
    records.push_back(std::move(record));
  }

  DatasetOptions options_;
  std::vector<std::unique_ptr<const TokenFile>> files_;
  std::vector<Range> ranges_;
  std::vector<FileUnit> units_;
  int64_t size_ = 0;
  uint64_t fingerprint_ = 0;
};

class TokenReader final : public UnitReader {
 public:
  TokenReader(const TokenDataset& dataset, const FileUnit& unit)
      : dataset_(dataset), unit_(unit) {}

  bool next_block(std::vector<Record>& records) override {
    if (is_read_) return false;
    is_read_ = true;
    dataset_.read(unit_, records);
    return true;
  }

 private:
  const TokenDataset& dataset_;
  FileUnit unit_;
  bool is_read_ = false;
};

std::unique_ptr<UnitReader> TokenDataset::open(int64_t unit) const {
  return std::make_unique<TokenReader>(*this,
                                       units_[static_cast<size_t>(unit)]);
}

}  // namespace

std::unique_ptr<Dataset> open_token_dataset(const DatasetOptions& options) {
  return std::make_unique<TokenDataset>(options);
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// A dataset cut into units which can be read on their own, in any order: a
// range of a file's bytes, a share of a compressed file, a range of tokens, a
// group of rows. Lanes (lane.h) are dealt units; nothing here knows of them.
// A unit is read in blocks, bounded in size, and a block is what is shuffled
// within. Which records a block has never changes while the files do not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/record.h"

namespace titan {

class ReadReport;

class UnitReader {
 public:
  virtual ~UnitReader() = default;
  /// Appends the records of the next block (there may be none in it); false
  /// where the unit ends. UserError: the file cannot be read, or a record is
  /// bad and data.on_bad_line is error.
  virtual bool next_block(std::vector<Record>& records) = 0;
  /// Passes over a block: as next_block, cheaper.
  virtual bool skip_block();

  /// Blocks have ascending names, from 0: the next one's, behind `block` which
  /// was just read. They are counted unless a reader says otherwise.
  virtual int64_t name_behind(int64_t block) const { return block + 1; }
  /// From the block `from`, which is next, to `to`, a later one's name: false
  /// where the unit has no such.
  virtual bool skip_to(int64_t from, int64_t to);
};

/// What a dataset's records are, all of them alike.
enum class RecordContent { kText, kMessages, kTokens };

/// Immutable: any thread may call.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t num_units() const = 0;
  virtual std::unique_ptr<UnitReader> open(int64_t unit) const = 0;
  /// Of the files' contents (sizes, first and last bytes) and of how they are
  /// cut into units.
  virtual uint64_t fingerprint() const = 0;
  /// "file:line" or alike. May read the file to count its lines.
  virtual std::string describe(const RecordPlace& place) const = 0;
  virtual RecordContent content() const { return RecordContent::kText; }
};

enum class Split { kTrain, kValidation };

struct DatasetOptions {
  std::vector<std::string> files;  ///< Expanded (file_list.h), in order.
  std::string field;               ///< JSONL; empty: the whole line.
  Split split = Split::kTrain;
  double validation_fraction = 0;
  int64_t num_lanes = 1;          ///< Units should be as many, or more.
  int64_t block_bytes = 1 << 20;  ///< Bound of a block, hence of memory.
  int64_t seq_len = 1;            ///< Pieces of long documents hold several.
  /// Cuts no document that fits a block: for validation, where each cut would
  /// cost a target.
  bool keeps_whole = false;
  ReadReport* report = nullptr;  ///< Outlives the dataset.
};

/// Opens a dataset that is not built in (core/plugin/plugin_dataset.h). Any
/// thread may call.
class DatasetOpener {
 public:
  virtual ~DatasetOpener() = default;
  virtual std::unique_ptr<Dataset> open(
      const DatasetOptions& options) const = 0;
  /// Of the files that folders are searched for. Nothing: what data.files has
  /// are no files, and there may be none.
  virtual const std::optional<std::vector<std::string>>& endings() const = 0;
};

/// text: a file is a document, cut into pieces at line ends.
std::unique_ptr<Dataset> open_text_dataset(const DatasetOptions& options);
/// jsonl: a line is a document (jsonl_dataset.cpp has the rules).
std::unique_ptr<Dataset> open_jsonl_dataset(const DatasetOptions& options);

/// Whether a document is held out: a function of its text alone, so that equal
/// documents are never in both splits, whatever their order.
bool is_held_out(std::string_view text, double fraction);

/// For fingerprints: a file's size, first and last 4 KiB.
uint64_t fingerprint_of_file(const std::string& path);

/// The size of units: enough of them for all lanes, at most `largest` and at
/// least `smallest` bytes (or tokens) each.
int64_t unit_size(int64_t total,
                  int64_t num_lanes,
                  int64_t smallest,
                  int64_t largest);

/// A range of a plain file, or every `of`-th block of a compressed one.
struct FileUnit {
  int32_t file = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t share = 0;
  int64_t num_shares = 0;  ///< 0: a plain range.
};

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/datasets/parquet/dataset.h"

#include <algorithm>

#include <titan/error.h>

#include "plugins/datasets/parquet/row_reader.h"

namespace titan::parquet_dataset {
namespace {

// A range of rows costs opening the file and decoding what is before it in the
// row group: below this size that is more than reading it.
constexpr int64_t kSmallestShardBytes = int64_t{64} * 1024;
// Rows are decoded a few at a time: beside the block of the host they are
// nearly all that an open shard holds.
constexpr int64_t kLargestBatchBytes = 1 << 20;

}  // namespace

ParquetDataset::ParquetDataset(const Config& config,
                               const DatasetRequest& request)
    : ParquetDataset(read_selection(config), request) {}

ParquetDataset::ParquetDataset(Selection selection,
                               const DatasetRequest& request)
    : selection_(std::move(selection)),
      files_(request.files),
      batch_bytes_(std::min(request.block_bytes, kLargestBatchBytes)) {
  add_shards(request.num_lanes);
}

void ParquetDataset::add_shards(int64_t num_lanes) {
  std::vector<RowRange> groups;
  std::vector<int64_t> sizes;
  for (size_t file = 0; file < files_.size(); ++file)
    for (const RowGroupFacts& group : read_footer(files_[file], selection_)) {
      if (group.num_rows == 0) continue;
      groups.push_back(
          {static_cast<int32_t>(file), group.number, 0, group.num_rows});
      sizes.push_back(group.num_bytes);
    }
  const auto num_groups = static_cast<int64_t>(groups.size());
  if (num_groups == 0) return;
  const int64_t wanted = (num_lanes + num_groups - 1) / num_groups;
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t num_rows = groups[i].end;
    const int64_t num_parts =
        std::min({wanted,
                  num_rows,
                  std::max(sizes[i] / kSmallestShardBytes, int64_t{1})});
    for (int64_t part = 0; part < num_parts; ++part) {
      RowRange range = groups[i];
      // The first `num_rows % num_parts` parts have a row more.
      range.begin =
          part * (num_rows / num_parts) + std::min(part, num_rows % num_parts);
      range.end = (part + 1) * (num_rows / num_parts) +
                  std::min(part + 1, num_rows % num_parts);
      shards_.push_back(range);
    }
  }
}

std::unique_ptr<ParquetDataset::Shard> ParquetDataset::open(
    int64_t shard) const {
  const RowRange& range = shards_.at(static_cast<size_t>(shard));
  return std::make_unique<Shard>(
      open_rows(files_[static_cast<size_t>(range.file)],
                range,
                selection_,
                batch_bytes_));
}

std::string ParquetDataset::describe(int64_t shard, int64_t record) const {
  const RowRange& range = shards_.at(static_cast<size_t>(shard));
  return text(files_[static_cast<size_t>(range.file)],
              ": row group ",
              range.row_group,
              ", row ",
              range.begin + record);
}

ParquetDataset::Shard::Shard(std::unique_ptr<RowReader> rows)
    : rows_(std::move(rows)) {}
ParquetDataset::Shard::~Shard() = default;

void ParquetDataset::Shard::next(const RecordSink& sink) {
  rows_->next(sink);
}

void ParquetDataset::Shard::seek(int64_t record) {
  rows_->seek(record);
}

}  // namespace titan::parquet_dataset

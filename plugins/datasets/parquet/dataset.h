// SPDX-License-Identifier: BSD-3-Clause
// Parquet files as a dataset: a shard is a row group, or, where there are fewer
// row groups than lanes, a range of the rows of one. No Arrow in here: its
// headers cost 10 s a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/config.hpp>
#include <titan/sdk/dataset.hpp>

#include "plugins/datasets/parquet/selection.h"

namespace titan::parquet_dataset {

class RowReader;

/// Rows [begin, end) of a row group.
struct RowRange {
  int32_t file = 0;
  int32_t row_group = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

class ParquetDataset {
 public:
  static constexpr std::string_view kEndings = ".parquet .pq";
  static constexpr std::string_view kSchema = R"json({
    "type": "object",
    "properties": {
      "text": {"type": ["string", "null"], "default": null,
        "description": "column of documents: strings; null: text, where no other column is given"},
      "messages": {"type": "array", "items": {"type": "string"}, "default": [],
        "description": "columns of conversations, such as [messages] or [prompt, completion]: lists and structs, or their JSON; docs/chat.md has the forms"},
      "tokens": {"type": ["string", "null"], "default": null,
        "description": "column of documents of the run's tokenizer: lists of integers"}
    }})json";

  /// Reads every file's footer. UserError: one is damaged, or lacks a column.
  ParquetDataset(const Config& config, const DatasetRequest& request);
  ParquetDataset(Selection selection, const DatasetRequest& request);

  class Shard {
   public:
    explicit Shard(std::unique_ptr<RowReader> rows);
    ~Shard();
    void next(const RecordSink& sink);
    void seek(int64_t record);

   private:
    std::unique_ptr<RowReader> rows_;
  };

  RecordFormat format() const { return selection_.format; }
  int64_t num_shards() const { return static_cast<int64_t>(shards_.size()); }
  std::unique_ptr<Shard> open(int64_t shard) const;
  std::string describe(int64_t shard, int64_t record) const;

 private:
  void add_shards(int64_t num_lanes);

  Selection selection_;
  std::vector<std::string> files_;
  int64_t batch_bytes_;
  std::vector<RowRange> shards_;
};

}  // namespace titan::parquet_dataset

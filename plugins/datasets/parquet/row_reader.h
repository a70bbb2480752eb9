// SPDX-License-Identifier: BSD-3-Clause
// What is read of a Parquet file: its footer, and ranges of rows. The only way
// to Arrow, without its headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <titan/sdk/dataset.hpp>

#include "plugins/datasets/parquet/selection.h"

namespace titan::parquet_dataset {

struct RowRange;

struct RowGroupFacts {
  int32_t number = 0;
  int64_t num_rows = 0;
  int64_t num_bytes = 0;  ///< Of the selected columns, without compression.
};

/// UserError: not a Parquet file, a damaged footer, a column that is not there
/// (the message lists those that are) or of another type.
std::vector<RowGroupFacts> read_footer(const std::string& file,
                                       const Selection& selection);

/// The records of a range of rows.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// As titan_dataset_table's.
  virtual void next(const RecordSink& sink) = 0;
  virtual void seek(int64_t record) = 0;
};

/// Decodes about `batch_bytes` at a time. UserError, here and in the reader:
/// the file is damaged or has changed.
std::unique_ptr<RowReader> open_rows(const std::string& file,
                                     const RowRange& range,
                                     const Selection& selection,
                                     int64_t batch_bytes);

}  // namespace titan::parquet_dataset

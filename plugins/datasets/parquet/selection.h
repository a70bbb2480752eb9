// SPDX-License-Identifier: BSD-3-Clause
// Which columns of the files are read, and as what: the options of
// titan.parquet.
#pragma once

#include <string>
#include <vector>

#include <titan/sdk/config.hpp>
#include <titan/sdk/dataset.hpp>

namespace titan::parquet_dataset {

struct Selection {
  RecordFormat format = RecordFormat::kText;
  std::vector<std::string> columns;  ///< One, or several of messages.
};

/// UserError where more than one of text, messages and tokens is given.
Selection read_selection(const Config& config);

}  // namespace titan::parquet_dataset

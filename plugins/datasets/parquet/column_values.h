// SPDX-License-Identifier: BSD-3-Clause
// A row of an Arrow column as text, ids or JSON, whatever the column's layout:
// strings (32 and 64 bit offsets, views, dictionaries), lists (the same, and
// of fixed size), structs, maps, numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array.h>

#include <titan/json.hpp>

namespace titan::parquet_dataset {

/// What a column must be for each, judged by its type alone.
bool is_text(const arrow::DataType& type);
bool is_token_list(const arrow::DataType& type);
bool is_json(const arrow::DataType& type);

/// `row` must not be null. The text is borrowed from the array.
std::string_view text_at(const arrow::Array& column, int64_t row);

/// Sets `ids`; returns what is wrong with the row, or nothing.
std::string tokens_at(const arrow::Array& column,
                      int64_t row,
                      std::vector<int32_t>& ids);

/// Null fields of structs are left out, as if they had not been written.
Json json_at(const arrow::Array& column, int64_t row);

}  // namespace titan::parquet_dataset

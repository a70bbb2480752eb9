// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/datasets/parquet/column_values.h"

#include <limits>

#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <titan/text.h>

namespace titan::parquet_dataset {
namespace {

using arrow::Array;
using arrow::DataType;
using arrow::Type;

// The items [begin, begin + size) of `values` that a row of a list has.
struct ListItems {
  const Array* values = nullptr;
  int64_t begin = 0;
  int64_t size = 0;
};

template <typename List>
ListItems items_of(const Array& column, int64_t row) {
  const auto& list = static_cast<const List&>(column);
  return {list.values().get(),
          static_cast<int64_t>(list.value_offset(row)),
          static_cast<int64_t>(list.value_length(row))};
}

ListItems items_at(const Array& column, int64_t row) {
  switch (column.type_id()) {
    case Type::LIST:
    case Type::MAP:
      return items_of<arrow::ListArray>(column, row);
    case Type::LARGE_LIST:
      return items_of<arrow::LargeListArray>(column, row);
    case Type::LIST_VIEW:
      return items_of<arrow::ListViewArray>(column, row);
    case Type::LARGE_LIST_VIEW:
      return items_of<arrow::LargeListViewArray>(column, row);
    default:
      return items_of<arrow::FixedSizeListArray>(column, row);
  }
}

bool is_list(const DataType& type) {
  switch (type.id()) {
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
    case Type::FIXED_SIZE_LIST:
      return true;
    default:
      return false;
  }
}

bool is_integer_type(const DataType& type) {
  return arrow::is_integer(type.id());
}

template <typename Numbers>
auto number_of(const Array& column, int64_t row) {
  return static_cast<const Numbers&>(column).Value(row);
}

// Of a column of integers; the largest 64-bit ones come out negative.
int64_t integer_at(const Array& column, int64_t row) {
  switch (column.type_id()) {
    case Type::INT8:
      return number_of<arrow::Int8Array>(column, row);
    case Type::UINT8:
      return number_of<arrow::UInt8Array>(column, row);
    case Type::INT16:
      return number_of<arrow::Int16Array>(column, row);
    case Type::UINT16:
      return number_of<arrow::UInt16Array>(column, row);
    case Type::INT32:
      return number_of<arrow::Int32Array>(column, row);
    case Type::UINT32:
      return number_of<arrow::UInt32Array>(column, row);
    case Type::INT64:
      return number_of<arrow::Int64Array>(column, row);
    default:
      return static_cast<int64_t>(number_of<arrow::UInt64Array>(column, row));
  }
}

Json list_json(const ListItems& items) {
  Json::Array list;
  for (int64_t i = items.begin; i < items.begin + items.size; ++i)
    list.push_back(json_at(*items.values, i));
  return Json::array(std::move(list));
}

Json struct_json(const arrow::StructArray& column, int64_t row) {
  Json::Object members;
  for (int i = 0; i < column.num_fields(); ++i)
    if (!column.field(i)->IsNull(row))
      members.emplace_back(column.struct_type()->field(i)->name(),
                           json_at(*column.field(i), row));
  return Json::object(std::move(members));
}

Json map_json(const arrow::MapArray& column, int64_t row) {
  const ListItems items = items_at(column, row);
  Json::Object members;
  for (int64_t i = items.begin; i < items.begin + items.size; ++i)
    if (!column.items()->IsNull(i))
      members.emplace_back(std::string(text_at(*column.keys(), i)),
                           json_at(*column.items(), i));
  return Json::object(std::move(members));
}

}  // namespace

bool is_text(const DataType& type) {
  if (type.id() == Type::DICTIONARY)
    return is_text(
        *static_cast<const arrow::DictionaryType&>(type).value_type());
  return arrow::is_base_binary_like(type.id()) ||
         arrow::is_binary_view_like(type.id());
}

bool is_token_list(const DataType& type) {
  return is_list(type) && is_integer_type(*type.field(0)->type());
}

bool is_json(const DataType& type) {
  switch (type.id()) {
    case Type::NA:
    case Type::BOOL:
    case Type::FLOAT:
    case Type::DOUBLE:
      return true;
    case Type::STRUCT:
      for (const auto& field : type.fields())
        if (!is_json(*field->type())) return false;
      return true;
    case Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(type);
      return is_text(*map.key_type()) && is_json(*map.item_type());
    }
    default:
      return is_text(type) || is_integer_type(type) ||
             (is_list(type) && is_json(*type.field(0)->type()));
  }
}

std::string_view text_at(const Array& column, int64_t row) {
  switch (column.type_id()) {
    case Type::DICTIONARY: {
      const auto& words = static_cast<const arrow::DictionaryArray&>(column);
      return text_at(*words.dictionary(), words.GetValueIndex(row));
    }
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(column).GetView(row);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(column).GetView(row);
    default:
      return static_cast<const arrow::BinaryArray&>(column).GetView(row);
  }
}

std::string tokens_at(const Array& column,
                      int64_t row,
                      std::vector<int32_t>& ids) {
  const ListItems items = items_at(column, row);
  ids.clear();
  for (int64_t i = items.begin; i < items.begin + items.size; ++i) {
    if (items.values->IsNull(i))
      return text("token ", i - items.begin, " of the row is null");
    const int64_t id = integer_at(*items.values, i);
    if (id < 0 || id > std::numeric_limits<int32_t>::max())
      return text("token ",
                  i - items.begin,
                  " of the row: expected an id from 0 to 2^31 - 1, got ",
                  id);
    ids.push_back(static_cast<int32_t>(id));
  }
  return {};
}

Json json_at(const Array& column, int64_t row) {
  if (column.IsNull(row)) return nullptr;
  switch (column.type_id()) {
    case Type::BOOL:
      return number_of<arrow::BooleanArray>(column, row);
    case Type::FLOAT:
      return number_of<arrow::FloatArray>(column, row);
    case Type::DOUBLE:
      return number_of<arrow::DoubleArray>(column, row);
    case Type::STRUCT:
      return struct_json(static_cast<const arrow::StructArray&>(column), row);
    case Type::MAP:
      return map_json(static_cast<const arrow::MapArray&>(column), row);
    default:
      break;
  }
  if (is_integer_type(*column.type())) return integer_at(column, row);
  if (is_list(*column.type())) return list_json(items_at(column, row));
  return Json(text_at(column, row));
}

}  // namespace titan::parquet_dataset

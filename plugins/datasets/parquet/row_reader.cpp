// SPDX-License-Identifier: BSD-3-Clause
// Pages are read through a small buffer, one after another: the bytes of a
// column chunk, which may be hundreds of MiB, are never in memory at once.
#include "plugins/datasets/parquet/row_reader.h"

#include <algorithm>
#include <functional>

#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <titan/error.h>

#include "plugins/datasets/parquet/column_values.h"
#include "plugins/datasets/parquet/dataset.h"

namespace titan::parquet_dataset {
namespace {

constexpr int64_t kBufferBytes = int64_t{64} * 1024;
constexpr int64_t kMostRows = 8192;  // Of a batch.

[[noreturn]] void throw_unreadable(const std::string& where,
                                   std::string_view why) {
  throw UserError(text('[',
                       where,
                       "] Parquet file cannot be read: ",
                       why,
                       ". Is it whole? Fetch it again"));
}

// Arrow reports some faults by status and others by exception.
template <typename Body>
auto reading(const std::string& where, Body&& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw_unreadable(where, error.what());
  }
}

void check(const arrow::Status& status, const std::string& where) {
  if (!status.ok()) throw_unreadable(where, status.message());
}

template <typename Value>
Value take(arrow::Result<Value> result, const std::string& where) {
  check(result.status(), where);
  return std::move(result).MoveValueUnsafe();
}

std::unique_ptr<parquet::arrow::FileReader> open_file(const std::string& file) {
  parquet::ReaderProperties properties;
  properties.enable_buffered_stream();
  properties.set_buffer_size(kBufferBytes);
  properties.set_page_checksum_verification(true);
  parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
  arrow_properties.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  check(builder.OpenFile(file, /*memory_map=*/false, properties), file);
  return take(builder.properties(arrow_properties)->Build(), file);
}

// A selected column: its field, and the Parquet columns that it is stored in.
struct Column {
  std::shared_ptr<arrow::Field> field;
  std::vector<int> leaves;
};

void add_leaves(const parquet::arrow::SchemaField& field,
                std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

std::string_view expected_type(RecordFormat format) {
  switch (format) {
    case RecordFormat::kText:
      return "strings";
    case RecordFormat::kTokens:
      return "lists of integers";
    default:
      return "strings, numbers, and lists and structs of them";
  }
}

void check_type(const arrow::Field& field,
                RecordFormat format,
                const std::string& file) {
  const arrow::DataType& type = *field.type();
  const bool fits = format == RecordFormat::kText     ? is_text(type)
                    : format == RecordFormat::kTokens ? is_token_list(type)
                                                      : is_json(type);
  TITAN_USER_CHECK(fits,
                   '[',
                   file,
                   "] column ",
                   field.name(),
                   " has another type: expected ",
                   expected_type(format),
                   ", got ",
                   type.ToString());
}

std::vector<Column> find_columns(parquet::arrow::FileReader& reader,
                                 const Selection& selection,
                                 const std::string& file) {
  std::vector<Column> found;
  const auto& fields = reader.manifest().schema_fields;
  for (const std::string& name : selection.columns) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const auto& each) {
          return each.field->name() == name;
        });
    if (field == fields.end()) {
      std::vector<std::string> names;
      for (const auto& each : fields) names.push_back(each.field->name());
      throw UserError(text('[',
                           file,
                           "] column is not there: expected one of ",
                           names,
                           ", got ",
                           name,
                           ". Set text, messages or tokens in data.config"));
    }
    check_type(*field->field, selection.format, file);
    Column& column = found.emplace_back();
    column.field = field->field;
    add_leaves(*field, column.leaves);
  }
  return found;
}

RowGroupFacts facts_of(const parquet::FileMetaData& metadata,
                       int number,
                       const std::vector<Column>& columns) {
  const auto group = metadata.RowGroup(number);
  RowGroupFacts facts{number, group->num_rows(), 0};
  for (const Column& column : columns)
    for (const int leaf : column.leaves)
      facts.num_bytes += std::max<int64_t>(
          group->ColumnChunk(leaf)->total_uncompressed_size(), 0);
  return facts;
}

class ParquetRows final : public RowReader {
 public:
  ParquetRows(const std::string& file,
              const RowRange& range,
              const Selection& selection,
              int64_t batch_bytes)
      : selection_(selection),
        where_(text(file, ", row group ", range.row_group)),
        end_(range.end - range.begin) {
    file_ = open_file(file);
    TITAN_USER_CHECK(range.row_group < file_->num_row_groups(),
                     '[',
                     where_,
                     "] the file has changed while in use: expected more row "
                     "groups than ",
                     file_->num_row_groups());
    const std::vector<Column> columns = find_columns(*file_, selection, file);
    std::vector<int> leaves;
    for (const Column& column : columns)
      leaves.insert(leaves.end(), column.leaves.begin(), column.leaves.end());
    const RowGroupFacts facts = facts_of(
        *file_->parquet_reader()->metadata(), range.row_group, columns);
    const int64_t row_bytes =
        facts.num_bytes / std::max<int64_t>(facts.num_rows, 1) + 1;
    file_->set_batch_size(
        std::clamp<int64_t>(batch_bytes / row_bytes, 1, kMostRows));
    batches_ =
        take(file_->GetRecordBatchReader({range.row_group}, leaves), where_);
    row_ = range.begin;
  }

  void next(const RecordSink& sink) override {
    if (record_ == end_) return;
    reading(where_, [&] {
      go_to_row();
      hand_over(sink);
    });
    ++row_;
    ++record_;
  }

  void seek(int64_t record) override {
    const int64_t to = std::min(record, end_);
    row_ += to - record_;
    record_ = to;
  }

 private:
  // Decodes up to the batch that has the row.
  void go_to_row() {
    while (!batch_ || row_ >= batch_->num_rows()) {
      if (batch_) row_ -= batch_->num_rows();
      check(batches_->ReadNext(&batch_), where_);
      if (!batch_) throw_unreadable(where_, "it ends before its last row");
    }
  }

  void hand_over(const RecordSink& sink) {
    if (selection_.format == RecordFormat::kMessages)
      return hand_over_messages(sink);
    const arrow::Array& column = *batch_->column(0);
    if (column.IsNull(row_))
      return sink.refuse(
          text("column ", selection_.columns.front(), " is null"));
    if (selection_.format == RecordFormat::kText)
      return sink.text(text_at(column, row_));
    const std::string problem = tokens_at(column, row_, ids_);
    if (problem.empty())
      sink.tokens(ids_);
    else
      sink.refuse(problem);
  }

  // An object of the columns; those that are null are not in it.
  void hand_over_messages(const RecordSink& sink) {
    std::string object;
    for (const std::string& name : selection_.columns) {
      const arrow::Array& column = *batch_->GetColumnByName(name);
      if (column.IsNull(row_)) continue;
      object += object.empty() ? "{" : ",";
      object += Json(name).dump() + ':';
      // Conversations that are texts are JSON; all else that is text is text.
      const bool is_written = is_text(*column.type()) &&
                              (name == "messages" || name == "conversations");
      object += is_written ? std::string(text_at(column, row_))
                           : json_at(column, row_).dump();
    }
    if (object.empty())
      return sink.refuse(
          text("all of the columns are null: ", selection_.columns));
    sink.messages(object + '}');
  }

  Selection selection_;
  std::string where_;
  int64_t end_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;  // Counted from batch_'s first.
  int64_t record_ = 0;
  std::vector<int32_t> ids_;
};

}  // namespace

std::vector<RowGroupFacts> read_footer(const std::string& file,
                                       const Selection& selection) {
  return reading(file, [&] {
    const auto reader = open_file(file);
    const std::vector<Column> columns = find_columns(*reader, selection, file);
    const auto metadata = reader->parquet_reader()->metadata();
    std::vector<RowGroupFacts> groups;
    for (int number = 0; number < reader->num_row_groups(); ++number) {
      groups.push_back(facts_of(*metadata, number, columns));
      if (groups.back().num_rows < 0)
        throw_unreadable(file, "a row group has a negative number of rows");
    }
    return groups;
  });
}

std::unique_ptr<RowReader> open_rows(const std::string& file,
                                     const RowRange& range,
                                     const Selection& selection,
                                     int64_t batch_bytes) {
  return reading(file, [&] {
    return std::make_unique<ParquetRows>(file, range, selection, batch_bytes);
  });
}

}  // namespace titan::parquet_dataset

// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/plugin_dataset.h"

#include <limits>
#include <sstream>
#include <utility>

#include <titan/error.h>

#include "core/config/component_config.h"
#include "core/data/hash.h"
#include "core/data/read_report.h"
#include "core/plugin/abi_call.h"

namespace titan::plugin {
namespace {

// What a call of `next` brought.
struct Next {
  Record record;
  std::string refusal;
  int num_calls = 0;
};

// Bytes of ids are what equal records have in common.
std::string_view content_of(const Record& record) {
  if (record.ids.empty()) return record.content;
  return {reinterpret_cast<const char*>(record.ids.data()),
          record.ids.size() * sizeof(int32_t)};
}

void add_record(void* self, const titan_record* record) {
  auto& next = *static_cast<Next*>(self);
  ++next.num_calls;
  next.record.content = view(record->content);
  next.record.ids.assign(record->ids, record->ids + record->num_ids);
}

void refuse_record(void* self, titan_str why) {
  auto& next = *static_cast<Next*>(self);
  ++next.num_calls;
  next.refusal = why.size > 0 ? view(why) : "the record cannot be used";
}

class PluginDataset final : public Dataset {
 public:
  PluginDataset(const Component& component,
                const config::Value& config,
                const std::string& where,
                DatasetOptions options,
                bool has_files)
      : table_(component.as<titan_dataset_table>()),
        keepalive_(component.owner),
        id_(component.id),
        config_(config, where),
        options_(std::move(options)) {
    create(component);
    try {
      check_unread();
      read_facts();
    } catch (...) {
      table_.destroy(object_);
      throw;
    }
    compute_fingerprint(has_files);
  }
  ~PluginDataset() override { table_.destroy(object_); }
  PluginDataset(const PluginDataset&) = delete;
  PluginDataset& operator=(const PluginDataset&) = delete;

  int64_t num_units() const override { return facts_.num_shards; }
  uint64_t fingerprint() const override { return fingerprint_; }
  RecordContent content() const override {
    return static_cast<RecordContent>(facts_.record_format);
  }
  std::unique_ptr<UnitReader> open(int64_t unit) const override;
  std::string describe(const RecordPlace& place) const override {
    std::string words;
    const auto write = [](void* self, titan_str piece) {
      static_cast<std::string*>(self)->append(view(piece));
    };
    const titan_text_sink sink = {sizeof(sink), 0, &words, write};
    titan_error error = make_error();
    check_call(
        table_.describe(object_, place.file, place.offset, &sink, &error),
        error,
        id_);
    return words;
  }

  const titan_dataset_table& table() const { return table_; }
  const titan_object* object() const { return object_; }
  const std::string& id() const { return id_; }
  const DatasetOptions& options() const { return options_; }

 private:
  void create(const Component& component) {
    std::vector<titan_str> files;
    for (const std::string& file : options_.files)
      files.push_back(abi_str(file));
    const titan_dataset_request request = {sizeof(request),
                                           0,
                                           files.data(),
                                           files.size(),
                                           options_.num_lanes,
                                           options_.block_bytes};
    titan_error error = make_error();
    check_call(table_.create(&component.owner->host,
                             config_.as_abi(),
                             &request,
                             &object_,
                             &error),
               error,
               id_);
  }

  void check_unread() const {
    const std::vector<std::string> unread = config_.unread();
    TITAN_USER_CHECK(unread.empty() || config_.value().as_map().empty(),
                     '[',
                     unread.empty() ? "" : unread.front(),
                     "] option of ",
                     id_,
                     ": expected a key that the dataset reads here, got one "
                     "that it never looked at. Remove it.");
  }

  void read_facts() {
    facts_.struct_size = sizeof(facts_);
    titan_error error = make_error();
    check_call(table_.get_facts(object_, &facts_, &error), error, id_);
    // A place names a shard in 31 bits.
    constexpr int64_t kMostShards = std::numeric_limits<int32_t>::max();
    TITAN_CHECK(facts_.num_shards >= 0 && facts_.num_shards <= kMostShards &&
                    facts_.record_format >= TITAN_RECORD_TEXT &&
                    facts_.record_format <= TITAN_RECORD_TOKENS,
                '[',
                id_,
                "] facts: expected 0 to ",
                kMostShards,
                " shards of text, messages or tokens, got ",
                facts_.num_shards,
                " of format ",
                facts_.record_format);
  }

  void compute_fingerprint(bool has_files) {
    fingerprint_ =
        combine_hash(hash_bytes(id_), hash_bytes(config_.value().to_json()));
    for (const std::string& file : options_.files)
      fingerprint_ = combine_hash(
          fingerprint_,
          has_files ? fingerprint_of_file(file) : hash_bytes(file));
    for (const uint64_t value :
         {static_cast<uint64_t>(facts_.num_shards),
          facts_.fingerprint,
          static_cast<uint64_t>(options_.block_bytes),
          static_cast<uint64_t>(options_.split),
          static_cast<uint64_t>(options_.validation_fraction * 0x1p53)})
      fingerprint_ = combine_hash(fingerprint_, value);
  }

  const titan_dataset_table& table_;
  std::shared_ptr<const void> keepalive_;
  std::string id_;
  config::ComponentConfig config_;
  DatasetOptions options_;
  titan_object* object_ = nullptr;
  titan_dataset_facts facts_{};
  uint64_t fingerprint_ = 0;
};

class PluginUnitReader final : public UnitReader {
 public:
  PluginUnitReader(const PluginDataset& dataset, int64_t shard)
      : dataset_(dataset), shard_(static_cast<int32_t>(shard)) {
    titan_error error = make_error();
    check_call(
        dataset_.table().open_shard(dataset_.object(), shard, &reader_, &error),
        error,
        dataset_.id());
  }
  ~PluginUnitReader() override { dataset_.table().close_shard(reader_); }
  PluginUnitReader(const PluginUnitReader&) = delete;
  PluginUnitReader& operator=(const PluginUnitReader&) = delete;

  bool next_block(std::vector<Record>& records) override {
    const int64_t begin = next_record_;
    int64_t size = 0;
    while (size < dataset_.options().block_bytes) {
      Next next = read_next();
      if (next.num_calls == 0) break;
      size += static_cast<int64_t>(content_of(next.record).size()) + 1;
      judge(next, records);
      ++next_record_;
    }
    return next_record_ > begin;
  }
  int64_t name_behind(int64_t) const override { return next_record_; }
  bool skip_to(int64_t from, int64_t to) override {
    TITAN_CHECK_EQ(from, next_record_, "[data] record of a shard");
    if (from == to) return true;
    if (dataset_.table().seek != nullptr) {
      titan_error error = make_error();
      check_call(
          dataset_.table().seek(reader_, to, &error), error, dataset_.id());
      next_record_ = to;
      return true;
    }
    for (; next_record_ < to; ++next_record_)
      if (read_next().num_calls == 0) return false;
    return true;
  }

 private:
  Next read_next() {
    Next next;
    const titan_record_sink sink = {
        sizeof(sink), 0, &next, add_record, refuse_record};
    titan_error error = make_error();
    check_call(
        dataset_.table().next(reader_, &sink, &error), error, dataset_.id());
    TITAN_CHECK(next.num_calls <= 1,
                '[',
                dataset_.id(),
                "] next: expected at most one record, got ",
                next.num_calls);
    const bool has_ids = dataset_.content() == RecordContent::kTokens;
    TITAN_CHECK(has_ids ? next.record.content.empty() : next.record.ids.empty(),
                '[',
                dataset_.id(),
                "] next: expected a record of the dataset's format, got "
                "another");
    next.record.place = {shard_, next_record_};
    return next;
  }

  void judge(Next& next, std::vector<Record>& records) const {
    ReadReport& report = *dataset_.options().report;
    if (!next.refusal.empty())
      return report.add_bad(dataset_, next.record.place, next.refusal);
    const std::string_view content = content_of(next.record);
    if (content.empty()) return report.count(&ReadCounts::num_empty_records);
    const double fraction = dataset_.options().validation_fraction;
    const bool is_validation = dataset_.options().split == Split::kValidation;
    if (fraction > 0 && is_held_out(content, fraction) != is_validation) return;
    report.count(&ReadCounts::num_records);
    records.push_back(std::move(next.record));
  }

  const PluginDataset& dataset_;
  int32_t shard_;
  titan_object* reader_ = nullptr;
  int64_t next_record_ = 0;
};

std::unique_ptr<UnitReader> PluginDataset::open(int64_t unit) const {
  return std::make_unique<PluginUnitReader>(*this, unit);
}

}  // namespace

PluginDatasetOpener::PluginDatasetOpener(const Component& component,
                                         config::Value config,
                                         std::string where)
    : component_(component),
      config_(std::move(config)),
      where_(std::move(where)) {
  std::istringstream words{
      std::string(view(component.as<titan_dataset_table>().endings))};
  std::vector<std::string> endings;
  for (std::string ending; words >> ending;) endings.push_back(ending);
  if (!endings.empty()) endings_ = std::move(endings);
}

std::unique_ptr<Dataset> PluginDatasetOpener::open(
    const DatasetOptions& options) const {
  return std::make_unique<PluginDataset>(
      component_, config_, where_, options, endings_.has_value());
}

}  // namespace titan::plugin

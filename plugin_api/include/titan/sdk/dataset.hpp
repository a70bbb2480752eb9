// SPDX-License-Identifier: BSD-3-Clause
// Datasets, kind titan.dataset/1, from a class to its C table. It has
//   a constructor (const Config&, const DatasetRequest&)
//   static constexpr std::string_view kEndings   ".fasta .fa"; optional:
//   without
//                                                it data.files names no files
//   int64_t num_shards() const
//   class Shard: void next(const RecordSink&); void seek(int64_t record),
//                which is optional
//   std::unique_ptr<Shard> open(int64_t shard) const
//   std::string describe(int64_t shard, int64_t record) const
//   RecordFormat format() const                  optional: text
//   uint64_t fingerprint() const                 optional: 0
// Any thread calls; what each must do is in abi/dataset.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <titan/abi/dataset.h>
#include <titan/sdk/object.hpp>

namespace titan {

enum class RecordFormat : int32_t {
  kText = TITAN_RECORD_TEXT,
  kMessages = TITAN_RECORD_MESSAGES,
  kTokens = TITAN_RECORD_TOKENS,
};

/// What the host wants of a dataset.
struct DatasetRequest {
  std::vector<std::string> files;
  int64_t num_lanes = 1;
  int64_t block_bytes = 0;
};

/// Takes the next record: one call, of what the dataset's format says.
class RecordSink {
 public:
  explicit RecordSink(const titan_record_sink& sink) : sink_(sink) {}

  void text(std::string_view content) const { add(content, {}); }
  /// {"messages": [...]} or another form of docs/chat.md.
  void messages(std::string_view json) const { add(json, {}); }
  void tokens(std::span<const int32_t> ids) const { add({}, ids); }
  /// A record that cannot be used: "no sequence behind the header".
  void refuse(std::string_view why) const {
    sink_.refuse(sink_.self, detail::str(why));
  }

 private:
  void add(std::string_view content, std::span<const int32_t> ids) const {
    const titan_record record = {
        sizeof(record), 0, detail::str(content), ids.data(), ids.size()};
    sink_.add(sink_.self, &record);
  }
  const titan_record_sink& sink_;
};

namespace detail {

template <typename Dataset>
struct DatasetFunctions {
  using Shard = typename Dataset::Shard;

  static int32_t create(const titan_host_api* api,
                        const titan_config* config,
                        const titan_dataset_request* request,
                        titan_object** out,
                        titan_error* error) noexcept {
    return guard(error, [&] {
      set_host(api);
      DatasetRequest wanted;
      for (uint64_t i = 0; i < request->num_files; ++i)
        wanted.files.emplace_back(view(request->files[i]));
      wanted.num_lanes = request->num_lanes;
      wanted.block_bytes = request->block_bytes;
      *out =
          reinterpret_cast<titan_object*>(new Dataset(Config(config), wanted));
    });
  }
  static int32_t get_facts(const titan_object* self,
                           titan_dataset_facts* facts,
                           titan_error* error) noexcept {
    return guard(error, [&] {
      const auto& dataset = object<Dataset>(self);
      facts->num_shards = dataset.num_shards();
      facts->record_format = TITAN_RECORD_TEXT;
      if constexpr (requires { dataset.format(); })
        facts->record_format = static_cast<int32_t>(dataset.format());
      facts->fingerprint = 0;
      if constexpr (requires { dataset.fingerprint(); })
        facts->fingerprint = dataset.fingerprint();
    });
  }
  static int32_t open_shard(const titan_object* self,
                            int64_t shard,
                            titan_object** reader,
                            titan_error* error) noexcept {
    return guard(error, [&] {
      std::unique_ptr<Shard> made = object<Dataset>(self).open(shard);
      *reader = reinterpret_cast<titan_object*>(made.release());
    });
  }
  static int32_t next(titan_object* reader,
                      const titan_record_sink* sink,
                      titan_error* error) noexcept {
    return guard(error, [&] { object<Shard>(reader).next(RecordSink(*sink)); });
  }
  static int32_t seek(titan_object* reader,
                      int64_t record,
                      titan_error* error) noexcept {
    return guard(error, [&] { object<Shard>(reader).seek(record); });
  }
  static int32_t describe(const titan_object* self,
                          int64_t shard,
                          int64_t record,
                          const titan_text_sink* sink,
                          titan_error* error) noexcept {
    return guard(error, [&] {
      write_text(*sink, object<Dataset>(self).describe(shard, record));
    });
  }
};

template <typename Dataset>
class DatasetTable {
 public:
  template <typename Description>
  explicit DatasetTable(const Description&) {
    using Functions = DatasetFunctions<Dataset>;
    using Shard = typename Dataset::Shard;
    table_.struct_size = sizeof(table_);
    if constexpr (requires { Dataset::kEndings; })
      table_.endings = str(Dataset::kEndings);
    table_.create = Functions::create;
    table_.destroy = destroy_object<Dataset>;
    table_.get_facts = Functions::get_facts;
    table_.open_shard = Functions::open_shard;
    table_.close_shard = destroy_object<Shard>;
    table_.next = Functions::next;
    if constexpr (requires(Shard & shard) { shard.seek(int64_t{}); })
      table_.seek = Functions::seek;
    table_.describe = Functions::describe;
  }
  const void* get() const { return &table_; }

 private:
  titan_dataset_table table_{};
};

}  // namespace detail
}  // namespace titan

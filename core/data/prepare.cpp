// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/prepare.h"

#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "core/checkpoint/checksum.h"
#include "core/data/options.h"
#include "core/data/read_report.h"
#include "core/data/token_file.h"

namespace titan {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kRecordName = "dataset.json";
constexpr int kFormat = 1;
// One lane reads everything, so blocks may be large.
constexpr int64_t kBlockBytes = 16 << 20;
// Read ahead of what is written, so that all threads have something to do.
constexpr int64_t kBytesAhead = 4 * kBlockBytes;
constexpr size_t kRecordsAhead = 256;

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

std::unique_ptr<Dataset> open_source(const PrepareOptions& options,
                                     const SampleMapper& mapper,
                                     ReadReport& report) {
  TITAN_USER_CHECK(
      options.opener || options.use == "text" || options.use == "jsonl",
      "[data prepare] expected text, jsonl or the id of a plugin's dataset, "
      "got ",
      options.use);
  DatasetOptions dataset;
  dataset.files = expand_source_files(
      {.use = options.use, .files = {}, .opener = options.opener},
      options.files);
  dataset.field = mapper.reads_json() ? "" : options.field;
  dataset.block_bytes = kBlockBytes;
  dataset.keeps_whole = true;
  dataset.report = &report;
  if (options.opener) {
    auto opened = options.opener->open(dataset);
    TITAN_USER_CHECK(opened->content() != RecordContent::kMessages,
                     "[data prepare] conversations have tokens that are no "
                     "targets: token files hold plain text. Train on ",
                     options.use,
                     " itself");
    return opened;
  }
  return options.use == "text" ? open_text_dataset(dataset)
                               : open_jsonl_dataset(dataset);
}

struct MappedRecord {
  Record record;
  std::vector<Sample> samples;
  std::exception_ptr error;
};

// A block that was read ahead, and where reading goes on behind it.
struct Block {
  std::vector<MappedRecord> records;
  int64_t next_unit = 0;
  int64_t next_block = 0;
};

// Tokenising is nearly all of the work, and records are independent: those of
// several blocks at once, as one text file may be a block of one record.
void map_blocks(std::deque<Block>& blocks, const SampleMapper& mapper) {
  std::vector<MappedRecord*> all;
  for (Block& block : blocks)
    for (MappedRecord& each : block.records) all.push_back(&each);
  const auto size = static_cast<int64_t>(all.size());
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < size; ++i) {
    MappedRecord& each = *all[static_cast<size_t>(i)];
    try {
      mapper.map(each.record, each.samples);
      each.record.content = {};
    } catch (...) {
      // Leaves the parallel region and is judged in order below.
      each.error = std::current_exception();
    }
  }
}

class Preparation {
 public:
  Preparation(const PrepareOptions& options,
              const SampleMapper& mapper,
              int64_t vocab_size,
              ReadReport& report,
              checkpoint::FileSystem& files)
      : options_(options),
        mapper_(mapper),
        report_(report),
        files_(files),
        token_bytes_(vocab_size > 65536 ? 4 : 2),
        dataset_(open_source(options, mapper, report)) {
    checkpoint::make_folders(files_, options_.folder);
    read_record();
    progress_.num_units = dataset_->num_units();
    progress_.units_done = next_unit_;
  }

  PrepareProgress run(const ShowProgress& show) {
    while (!is_complete_) {
      run_file(show);
      write_record();
    }
    return progress_;
  }

 private:
  std::string path_of(const std::string& name) const {
    return (fs::path(options_.folder) / name).string();
  }

  // What an earlier call has finished.
  void read_record() {
    const std::string path = path_of(kRecordName);
    if (!files_.exists(path)) return;
    try {
      const Json record = Json::parse(read_whole(path));
      TITAN_USER_CHECK(record.at("format") == kFormat &&
                           record.at("source") == dataset_->fingerprint() &&
                           record.at("mapper") == mapper_.fingerprint(),
                       "[data prepare] the folder holds other data: expected "
                       "the same files, field and tokenizer as before, got "
                       "others: ",
                       options_.folder,
                       ". Give another --out, or remove it");
      for (const Json& shard : record.at("shards")) {
        check_shard(shard);
        shards_.push_back(shard);
        add_to_progress(shard);
      }
      next_unit_ = record.at("next_unit").get<int64_t>();
      next_block_ = record.at("next_block").get<int64_t>();
      is_complete_ = record.at("complete").get<bool>();
    } catch (const Json::exception& error) {
      throw UserError(text("[data prepare] damaged: ",
                           path,
                           " (",
                           error.what(),
                           "). Remove the folder and prepare again"));
    }
  }

  void check_shard(const Json& shard) const {
    const std::string path = path_of(shard.at("file").get<std::string>());
    const TokenFile file(path);
    file.verify();
    TITAN_USER_CHECK(file.num_tokens() == shard.at("tokens").get<int64_t>(),
                     "[data prepare] token file is not the one of ",
                     kRecordName,
                     ": ",
                     path);
  }

  void add_to_progress(const Json& shard) {
    progress_.num_tokens += shard.at("tokens").get<int64_t>();
    progress_.num_documents += shard.at("documents").get<int64_t>();
    ++progress_.num_files;
  }

  // One token file, from next_unit_ and next_block_ on.
  void run_file(const ShowProgress& show) {
    char name[32];
    std::snprintf(name, sizeof(name), "tokens_%05zu.bin", shards_.size());
    TokenFileWriter writer(files_, path_of(name), token_bytes_);
    const int64_t num_before = progress_.num_tokens;
    while (writer.num_tokens() < options_.tokens_per_file && next(writer)) {
      progress_.num_tokens = num_before + writer.num_tokens();
      progress_.units_done = next_unit_;
      if (show) show(progress_);
    }
    progress_.num_tokens = num_before;
    if (writer.num_tokens() == 0) return;  // Nothing but passed-over records.
    const TokenFileFacts facts = writer.finish();
    const Json shard = {
        {"file", name},
        {"tokens", facts.num_tokens},
        {"documents", facts.num_documents},
        {"checksum", checkpoint::checksum_text(facts.checksum)}};
    shards_.push_back(shard);
    add_to_progress(shard);
  }

  // The next block into `writer`; false, and complete, behind the last.
  bool next(TokenFileWriter& writer) {
    if (ahead_.empty()) read_ahead();
    if (ahead_.empty()) {
      next_unit_ = dataset_->num_units();
      next_block_ = 0;
      is_complete_ = true;
      return false;
    }
    const Block block = std::move(ahead_.front());
    ahead_.pop_front();
    add(block, writer);
    next_unit_ = block.next_unit;
    next_block_ = block.next_block;
    return true;
  }

  // Fills ahead_, from next_unit_ and next_block_ on. How much of it does not
  // change what is written.
  void read_ahead() {
    int64_t unit = next_unit_;
    int64_t block = next_block_;
    int64_t num_bytes = 0;
    size_t num_records = 0;
    while (unit < dataset_->num_units() && num_bytes < kBytesAhead &&
           num_records < kRecordsAhead) {
      if (!reader_) {
        reader_ = dataset_->open(unit);
        reader_->skip_to(0, block);
      }
      std::vector<Record> records;
      if (!reader_->next_block(records)) {
        reader_.reset();
        ++unit;
        block = 0;
        continue;
      }
      block = reader_->name_behind(block);
      Block& ahead = ahead_.emplace_back();
      ahead.next_unit = unit;
      ahead.next_block = block;
      for (Record& record : records) {
        num_bytes += static_cast<int64_t>(record.content.size());
        ahead.records.emplace_back().record = std::move(record);
      }
      num_records += records.size();
    }
    map_blocks(ahead_, mapper_);
  }

  void add(const Block& block, TokenFileWriter& writer) {
    for (const MappedRecord& each : block.records) {
      if (each.error) {
        judge(each.error, each.record.place);
        continue;
      }
      for (const Sample& sample : each.samples) {
        TITAN_USER_CHECK(sample.is_target.empty(),
                         "[data prepare] samples with masked targets: token "
                         "files hold plain text. Train on the JSONL itself");
        writer.append(sample.ids, each.record.begins_document);
      }
    }
  }

  void judge(const std::exception_ptr& error, const RecordPlace& place) {
    try {
      std::rethrow_exception(error);
    } catch (const BadRecord& bad) {
      report_.add_bad(*dataset_, place, bad.what());
    }
  }

  void write_record() {
    const Json record = {{"format", kFormat},
                         {"complete", is_complete_},
                         {"source", dataset_->fingerprint()},
                         {"mapper", mapper_.fingerprint()},
                         {"shards", shards_},
                         {"next_unit", next_unit_},
                         {"next_block", next_block_}};
    checkpoint::write_file_atomically(
        files_, path_of(kRecordName), record.dump(1) + "\n");
  }

  const PrepareOptions& options_;
  const SampleMapper& mapper_;
  ReadReport& report_;
  checkpoint::FileSystem& files_;
  int token_bytes_;
  std::unique_ptr<Dataset> dataset_;
  Json shards_ = Json::array();
  std::unique_ptr<UnitReader> reader_;  // Behind the last block of ahead_.
  std::deque<Block> ahead_;
  int64_t next_unit_ = 0;
  int64_t next_block_ = 0;
  bool is_complete_ = false;
  PrepareProgress progress_;
};

}  // namespace

PrepareProgress prepare_tokens(const PrepareOptions& options,
                               const SampleMapper& mapper,
                               int64_t vocab_size,
                               ReadReport& report,
                               checkpoint::FileSystem& files,
                               const ShowProgress& show) {
  const PrepareProgress whole =
      Preparation(options, mapper, vocab_size, report, files).run(show);
  TITAN_USER_CHECK(whole.num_tokens > 0,
                   "[data prepare] no token in the files: expected text, got "
                   "none. Is it the right --field?");
  return whole;
}

void check_prepared_with(const std::string& file, uint64_t fingerprint) {
  const fs::path record_path = fs::path(file).parent_path() / kRecordName;
  std::error_code ignored;  // No record: another format, nothing to check.
  if (!fs::exists(record_path, ignored)) return;
  const Json record = Json::parse(
      read_whole(record_path.string()), nullptr, /*allow_exceptions=*/false);
  TITAN_USER_CHECK(record.is_object() && record.value("complete", false),
                   "[data.files] the folder is not prepared to its end: ",
                   record_path.parent_path().string(),
                   ". Run the same `titan data prepare` again");
  TITAN_USER_CHECK(record.value("mapper", Json()) == fingerprint,
                   "[data.tokenizer] the token files were prepared with "
                   "another tokenizer, add_bos or add_eos: ",
                   record_path.string());
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// A dataset of the SDK's making, in memory, under lanes: everything that
// holds for files holds for it.
#include "core/plugin/plugin_dataset.h"

#include <atomic>
#include <set>

#include <catch2/catch.hpp>

#include <titan/error.h>
#include <titan/sdk/dataset.hpp>

#include "core/config/component_config.h"
#include "core/data/chat_mapper.h"
#include "core/data/read_report.h"
#include "tests/unit/core/data/data_test.h"

using Catch::Contains;
using titan::DataOptions;
using titan::DataStream;
using titan::Microbatch;
using titan::RecordSink;
using titan::plugin::PluginDatasetOpener;
using titan::test::options_for;
using titan::test::Ranks;
using titan::test::SeenRow;

namespace {

const auto kBytes = titan::load_tokenizer("bytes");

// What lies behind every MemoryDataset of a test: shards of records. "!why" is
// a record that cannot be used.
struct Content {
  std::vector<std::vector<std::string>> shards;
  titan::RecordFormat format = titan::RecordFormat::kText;
  std::string failure;  // of `next`
  std::atomic<int64_t> num_read{0};
};

Content* shared_content = nullptr;

class MemoryDataset {
 public:
  MemoryDataset(const titan::Config& config,
                const titan::DatasetRequest& request)
      : request_(request) {
    if (config.has("limit")) limit_ = static_cast<size_t>(config.i64("limit"));
  }

  class Shard {
   public:
    Shard(const std::vector<std::string>& records, size_t limit)
        : records_(records), limit_(std::min(limit, records.size())) {}
    void next(const RecordSink& sink) {
      if (at_ >= limit_) return;
      ++shared_content->num_read;
      if (!shared_content->failure.empty())
        throw titan::UserError(shared_content->failure);
      const std::string& record = records_[at_++];
      if (record.starts_with('!')) return sink.refuse(record.substr(1));
      if (shared_content->format == titan::RecordFormat::kTokens)
        return sink.tokens(std::vector<int32_t>(record.begin(), record.end()));
      sink.text(record);
    }
    void seek(int64_t record) { at_ = static_cast<size_t>(record); }

   private:
    const std::vector<std::string>& records_;
    size_t limit_;
    size_t at_ = 0;
  };

  int64_t num_shards() const {
    return static_cast<int64_t>(shared_content->shards.size());
  }
  titan::RecordFormat format() const { return shared_content->format; }
  std::unique_ptr<Shard> open(int64_t shard) const {
    return std::make_unique<Shard>(shared_content->shards.at(shard), limit_);
  }
  std::string describe(int64_t shard, int64_t record) const {
    return titan::text("memory shard ", shard, ", record ", record);
  }

 private:
  titan::DatasetRequest request_;
  size_t limit_ = 1000;
};

// The same without `seek`: the host reads on instead.
class PlainDataset : public MemoryDataset {
 public:
  using MemoryDataset::MemoryDataset;
  class Shard {
   public:
    explicit Shard(std::unique_ptr<MemoryDataset::Shard> shard)
        : shard_(std::move(shard)) {}
    void next(const RecordSink& sink) { shard_->next(sink); }

   private:
    std::unique_ptr<MemoryDataset::Shard> shard_;
  };
  std::unique_ptr<Shard> open(int64_t shard) const {
    return std::make_unique<Shard>(MemoryDataset::open(shard));
  }
};

// For all tests: the SDK keeps the first host that it sees.
std::shared_ptr<const titan::plugin::LoadedPlugin> owner() {
  static const auto kept = [] {
    auto made = std::make_shared<titan::plugin::LoadedPlugin>();
    made->host.config = &titan::config::config_api();
    return made;
  }();
  return kept;
}

// A dataset as the host has it after loading a plugin.
template <typename Dataset>
class Loaded {
 public:
  explicit Loaded(Content& given, titan_str endings = {}) : table_(0) {
    shared_content = &given;
    copy_ = *static_cast<const titan_dataset_table*>(table_.get());
    copy_.endings = endings;
    component_.kind = titan::plugin::kDatasetKind;
    component_.id = "test.memory";
    component_.table = &copy_;
    component_.owner = owner();
  }
  ~Loaded() { shared_content = nullptr; }

  std::shared_ptr<PluginDatasetOpener> opener(
      const std::string& config = "{}") const {
    auto given = titan::config::Value::from_json(config, "test");
    titan::config::Origin origin;
    origin.kind = titan::config::Origin::Kind::kFile;
    given.set_origin_everywhere(origin);
    return std::make_shared<PluginDatasetOpener>(
        component_, std::move(given), "data.config");
  }

  titan_dataset_table& table() { return copy_; }

 private:
  titan::detail::DatasetTable<Dataset> table_;
  titan_dataset_table copy_;
  titan::plugin::Component component_;
};

std::string word_of(size_t shard, size_t record, int size) {
  std::string word = titan::text('s', shard, 'r', record, ' ');
  while (static_cast<int>(word.size()) < size) word += word;
  return word.substr(0, static_cast<size_t>(size));
}

void fill(Content& into, size_t num_shards, size_t num_records, int size) {
  for (size_t shard = 0; shard < num_shards; ++shard) {
    auto& records = into.shards.emplace_back();
    for (size_t i = 0; i < num_records; ++i)
      records.push_back(word_of(shard, i, size));
  }
}

DataOptions options_of(std::shared_ptr<const titan::DatasetOpener> opener) {
  DataOptions options = options_for("", "test.memory");
  options.sources[0].files.clear();
  options.sources[0].opener = std::move(opener);
  options.block_bytes = 200;  // Ten records or so.
  return options;
}

template <typename Dataset>
void check_resumes() {
  Content data;
  fill(data, 12, 40, 21);
  const Loaded<Dataset> loaded(data);
  DataOptions options = options_of(loaded.opener());
  options.tokens_per_step = 256;
  for (const char* packing : {"sequential", "best_fit", "none"}) {
    INFO(packing);
    options.packing = packing;
    Ranks straight(options, 1, *kBytes);
    std::vector<std::vector<SeenRow>> expected;
    for (int i = 0; i < 40; ++i) expected.push_back(straight.step(4));
    std::string state;
    int step = 0;
    for (const auto& [steps, world] :
         {std::pair{13, 1}, std::pair{13, 2}, std::pair{14, 4}}) {
      Ranks ranks(options, world, *kBytes);
      if (!state.empty()) ranks.restore(state);
      for (int i = 0; i < steps; ++i, ++step)
        REQUIRE(ranks.step(4 / world) == expected[step]);
      state = ranks.state();
    }
    CHECK(state == straight.state());
  }
}

}  // namespace

// DAT-22, for datasets of plugins.
TEST_CASE("a plugin's records go on where a run stopped, on other ranks too",
          "[unit]") {
  check_resumes<MemoryDataset>();
}

TEST_CASE("a plugin without seek is read on instead", "[unit]") {
  check_resumes<PlainDataset>();
}

TEST_CASE("going on within a shard reads a block and not what is before it",
          "[unit]") {
  Content data;
  fill(data, 1, 100'000, 16);
  Loaded<MemoryDataset> loaded(data);
  DataOptions options = options_of(loaded.opener(R"({"limit": 100000})"));
  options.num_lanes = 1;
  options.num_threads = 0;
  std::string state;
  {
    Ranks ranks(options, 1, *kBytes);
    for (int i = 0; i < 20'000; ++i) ranks.step(1);
    state = ranks.state();
  }
  CHECK_THAT(state, Contains("[0,"));
  Ranks ranks(options, 1, *kBytes);
  data.num_read = 0;
  ranks.restore(state);
  ranks.step(1);
  CHECK(data.num_read < 100);
}

TEST_CASE("an epoch has each record of each shard once", "[unit]") {
  Content data;
  fill(data, 5, 20, 16);
  const Loaded<MemoryDataset> loaded(data);
  for (const int64_t lanes : {1, 4, 64}) {
    DataOptions options = options_of(loaded.opener());
    options.num_lanes = lanes;
    options.sources[0].epochs = 2;
    Ranks ranks(options, lanes > 1 ? 2 : 1, *kBytes);
    const auto seen = ranks.count_texts();
    CHECK(seen.size() == 100);
    for (const auto& [words, count] : seen) CHECK(count == 2);
  }
}

TEST_CASE("a plugin's records mix with those of files", "[unit]") {
  const titan::test::TemporaryFolder folder;
  Content data;
  fill(data, 5, 20, 16);
  const Loaded<MemoryDataset> loaded(data);
  DataOptions options = options_of(loaded.opener());
  options.sources[0].weight = 0.25;
  options.sources.push_back(
      {.use = "jsonl",
       .files = {folder.write("a.jsonl", titan::test::jsonl_of(50, 16))},
       .weight = 0.75});
  Ranks ranks(options, 1, *kBytes);
  int num_plugin = 0;
  for (int i = 0; i < 100; ++i)
    for (const SeenRow& row : ranks.step(1))
      num_plugin += row.texts().front().starts_with('s') ? 1 : 0;
  CHECK(num_plugin == Approx(100).margin(3));
}

TEST_CASE("a plugin's bad records follow on_bad_line, with their place",
          "[unit]") {
  Content data;
  data.shards = {{"aaaa", "!no text behind the header", "", "bbbb"}};
  const Loaded<MemoryDataset> loaded(data);
  DataOptions options = options_of(loaded.opener());
  options.num_lanes = 1;
  CHECK_THROWS_WITH(
      DataStream(options, *kBytes),
      Contains("memory shard 0, record 1: [data] no text behind the header"));
  options.on_bad_line = "skip";
  options.sources[0].epochs = 1;
  DataStream stream(options, *kBytes);
  Microbatch batch;
  while (!stream.has_ended()) stream.next(batch);
  CHECK(stream.counts().num_records == 2);
  CHECK(stream.counts().num_bad_records == 1);
  CHECK(stream.counts().num_empty_records == 1);
  CHECK_THAT(stream.counts().first_bad_records.at(0),
             Contains("record 1: [data] no text"));
}

TEST_CASE("a part of a plugin's records is held out", "[unit]") {
  Content data;
  fill(data, 4, 100, 16);
  const Loaded<MemoryDataset> loaded(data);
  DataOptions options = options_of(loaded.opener());
  options.validation_fraction = 0.2;
  options.sources[0].epochs = 1;
  std::set<std::string> trained, validated;
  Ranks ranks(options, 1, *kBytes);
  while (!ranks.has_ended())
    for (const SeenRow& row : ranks.step(1))
      for (const std::string& words : row.texts()) trained.insert(words);
  options.split = titan::Split::kValidation;
  DataStream validation(options, *kBytes);
  Microbatch batch;
  while (validation.next(batch))
    for (const SeenRow& row : titan::test::rows_of(batch, 16))
      for (const std::string& words : row.texts()) validated.insert(words);
  CHECK(trained.size() + validated.size() == 400);
  CHECK(validated.size() == Approx(80).margin(25));
  for (const std::string& words : validated) CHECK(trained.count(words) == 0);
}

TEST_CASE("a plugin's ids are taken as they are, and checked", "[unit]") {
  Content data;
  data.format = titan::RecordFormat::kTokens;
  data.shards = {{std::string(16, 'x')}};
  const Loaded<MemoryDataset> loaded(data);
  DataOptions options = options_of(loaded.opener());
  options.num_lanes = 1;
  options.vocab_size = 256;
  DataStream stream(options, *kBytes);
  Microbatch batch;
  stream.next(batch);
  CHECK(batch.tokens == std::vector<int64_t>(64, 'x'));
  options.vocab_size = 100;
  CHECK_THROWS_WITH(
      DataStream(options, *kBytes),
      Contains("token id 120") && Contains("memory shard 0, record 0"));
}

TEST_CASE("a plugin's conversations are learnt as those of files", "[unit]") {
  Content data;
  data.format = titan::RecordFormat::kMessages;
  data.shards = {{R"({"prompt": "ab", "completion": "cd"})", "{"}};
  const Loaded<MemoryDataset> loaded(data);
  DataOptions options = options_of(loaded.opener());
  options.num_lanes = 1;
  options.packing = "none";
  options.on_bad_line = "skip";
  options.sources[0].epochs = 1;
  options.sources[0].chat_mapper = [] {
    titan::ChatSampleOptions chat;
    chat.max_tokens = 16;
    return std::make_shared<const titan::ChatMapper>(
        *kBytes, titan::chat::ChatTemplates({}), chat);
  };
  DataStream stream(options, *kBytes);
  Microbatch batch;
  stream.next(batch);
  CHECK(std::string(batch.tokens.begin(), batch.tokens.begin() + 4) == "abcd");
  CHECK(batch.n_valid == 2);  // c and d.
  while (!stream.has_ended()) stream.next(batch);
  CHECK(stream.counts().num_bad_records == 1);
  CHECK_THAT(stream.counts().first_bad_records.at(0),
             Contains("memory shard 0, record 1"));
}

TEST_CASE("what is wrong with a plugin's dataset is said at once", "[unit]") {
  Content data;
  Loaded<MemoryDataset> loaded(data);
  CHECK_THROWS_WITH(DataStream(options_of(loaded.opener()), *kBytes),
                    Contains("[data.files] no training data in"));
  fill(data, 1, 3, 16);
  CHECK_THROWS_WITH(
      options_of(loaded.opener(R"({"size": 3})")).sources[0].opener->open({}),
      Contains("[data.config.size] option of test.memory") &&
          Contains("never looked at"));
  data.failure = "[memory] shard 0 is torn";
  CHECK_THROWS_WITH(DataStream(options_of(loaded.opener()), *kBytes),
                    Contains("[memory] shard 0 is torn"));
  data.failure.clear();
  loaded.table().get_facts = [](const titan_object*,
                                titan_dataset_facts* facts,
                                titan_error*) -> int32_t {
    facts->num_shards = -1;
    return 0;
  };
  CHECK_THROWS_AS(DataStream(options_of(loaded.opener()), *kBytes),
                  titan::BugError);
}

TEST_CASE("files of a plugin's endings are found; without, entries are its own",
          "[unit]") {
  const titan::test::TemporaryFolder folder;
  folder.write("a.fa", "x");
  folder.write("b.txt", "x");
  Content data;
  fill(data, 1, 3, 16);
  Loaded<MemoryDataset> loaded(data, {".fa .fasta", 10});
  titan::SourceOptions source = options_of(loaded.opener()).sources[0];
  CHECK(titan::expand_source_files(source, {folder.path()}).size() == 1);
  DataOptions options = options_of(loaded.opener());
  CHECK_THROWS_WITH(check_options(options), Contains("at least one file"));
  loaded.table().endings = {};
  source = options_of(loaded.opener()).sources[0];
  CHECK(titan::expand_source_files(source, {"table://x"}).front() ==
        "table://x");
}

TEST_CASE("a run goes on with the same options and shards only", "[unit]") {
  Content data;
  fill(data, 4, 10, 16);
  const Loaded<MemoryDataset> loaded(data);
  std::string state;
  {  // Threads read ahead of these: they end before `data` grows.
    Ranks ranks(options_of(loaded.opener()), 1, *kBytes);
    ranks.step(1);
    state = ranks.state();
    Ranks limited(options_of(loaded.opener(R"({"limit": 5})")), 1, *kBytes);
    CHECK_THROWS_WITH(limited.restore(state), Contains("of other data"));
  }
  fill(data, 1, 10, 16);
  Ranks larger(options_of(loaded.opener()), 1, *kBytes);
  CHECK_THROWS_WITH(larger.restore(state), Contains("of other data"));
}

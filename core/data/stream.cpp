// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/stream.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/data/hash.h"
#include "core/data/prepare.h"
#include "core/data/token_dataset.h"
#include "core/tokenizer/tokenizer.h"

namespace titan {
namespace {

using Json = nlohmann::json;

constexpr int kStateFormat = 2;

constexpr uint64_t kLargestRow = uint64_t{1} << 50;  // Of any run.

// One lane only, so it may take more memory than a lane of training.
constexpr int64_t kValidationBlockBytes = 16 << 20;

std::unique_ptr<Dataset> open_dataset(const SourceOptions& source,
                                      const DataOptions& options,
                                      const SampleMapper& text_mapper,
                                      int64_t num_lanes,
                                      ReadReport& report) {
  const SampleMapper& mapper = source.mapper ? *source.mapper : text_mapper;
  const bool has_own_files =
      options.split == Split::kValidation && !options.validation_files.empty();
  DatasetOptions dataset;
  dataset.files = expand_source_files(
      source, has_own_files ? options.validation_files : source.files);
  dataset.field = mapper.reads_json() ? "" : source.field;
  dataset.split = options.split;
  dataset.validation_fraction = options.validation_fraction;
  dataset.num_lanes = num_lanes;
  dataset.keeps_whole = options.split == Split::kValidation;
  dataset.block_bytes =
      dataset.keeps_whole ? kValidationBlockBytes : options.block_bytes;
  dataset.seq_len = options.seq_len;
  dataset.report = &report;
  if (source.opener) return source.opener->open(dataset);
  if (source.use == "tokens") {
    for (const std::string& file : dataset.files)
      check_prepared_with(file, mapper.fingerprint());
    return open_token_dataset(dataset);
  }
  return source.use == "text" ? open_text_dataset(dataset)
                              : open_jsonl_dataset(dataset);
}

std::shared_ptr<const SampleMapper> mapper_for(
    const SourceOptions& source,
    const Dataset& dataset,
    const std::shared_ptr<const SampleMapper>& text_mapper) {
  if (source.mapper) return source.mapper;
  if (dataset.content() != RecordContent::kMessages) return text_mapper;
  TITAN_CHECK(source.chat_mapper, "[data] a dataset of messages, no mapper");
  return source.chat_mapper();
}

int64_t epochs_of(const SourceOptions& source, const DataOptions& options) {
  if (options.split == Split::kValidation) return 1;
  const bool ends =
      options.on_exhausted == "stop" || options.on_exhausted == "error";
  return ends && source.epochs == 0 ? 1 : source.epochs;
}

std::unique_ptr<LanePlan> make_plan(const DataOptions& options,
                                    const Tokenizer& tokenizer,
                                    ReadReport& report) {
  const bool is_train = options.split == Split::kTrain;
  auto plan = std::make_unique<LanePlan>();
  plan->num_lanes = is_train ? options.num_lanes : 1;
  plan->packing = parse_packing(options.packing);
  plan->end_is_error = options.on_exhausted == "error";
  const std::shared_ptr<const SampleMapper> text_mapper =
      make_text_mapper(tokenizer, options.add_bos, options.add_eos);
  std::vector<double> weights;
  for (const SourceOptions& source : options.sources) {
    weights.push_back(source.weight);
    // Files of their own are read once, not once per source.
    if (!is_train && !options.validation_files.empty() &&
        !plan->sources.empty())
      continue;
    auto dataset =
        open_dataset(source, options, *text_mapper, plan->num_lanes, report);
    const auto mapper = mapper_for(source, *dataset, text_mapper);
    // Validation alone may lack a source: a part of it that rounds to nothing.
    TITAN_USER_CHECK(dataset->num_units() > 0 || !is_train,
                     "[data.files] no training data in ",
                     source.files,
                     ". Add some or lower validation_fraction");
    if (dataset->num_units() == 0) continue;
    const uint64_t seed = combine_hash(mix_bits(options.seed), weights.size());
    const bool shuffles = is_train && options.shuffle;
    UnitOrder order(dataset->num_units(),
                    plan->num_lanes,
                    shuffles,
                    seed,
                    epochs_of(source, options));
    plan->sources.push_back({.dataset = std::move(dataset),
                             .mapper = mapper,
                             .order = order,
                             .num_lanes = plan->num_lanes,
                             .shuffles = shuffles,
                             .seed = seed,
                             .too_long = parse_too_long(options.too_long),
                             .seq_len = options.seq_len,
                             .vocab_size = options.vocab_size,
                             .report = &report});
  }
  const Mixture mixture(weights, options.seed);
  if (is_train) plan->mixture = mixture;
  return plan;
}

// Everything that rows depend on but dp_world, the microbatch's size and what
// only changes speed.
Json identity(const DataOptions& options, const LanePlan& plan) {
  Json sources = Json::array();
  for (size_t i = 0; i < plan.sources.size(); ++i)
    sources.push_back({{"files", plan.sources[i].dataset->fingerprint()},
                       {"mapper", plan.sources[i].mapper->fingerprint()},
                       {"weight", options.sources[i].weight},
                       {"epochs", options.sources[i].epochs}});
  return {{"format", kStateFormat},
          {"lanes", plan.num_lanes},
          {"seq_len", options.seq_len},
          {"packing", options.packing},
          {"too_long", options.too_long},
          {"shuffle", options.shuffle},
          {"shuffle_buffer", options.block_bytes},
          {"seed", options.seed},
          {"sources", std::move(sources)}};
}

Json parse_state(const std::string& state) {
  Json json = Json::parse(state, nullptr, /*allow_exceptions=*/false);
  TITAN_USER_CHECK(
      json.is_object() && json.contains("lane_states") &&
          json["lane_states"].is_object() && json.contains("next_row") &&
          json["next_row"].is_number_unsigned() &&
          json["next_row"].get<uint64_t>() <= kLargestRow,
      "[data] the saved state is damaged: expected a position, got ",
      state.substr(0, 80));
  return json;
}

}  // namespace

DataStream::DataStream(const DataOptions& options, const Tokenizer& tokenizer)
    : options_(options) {
  check_options(options_);
  report_ =
      std::make_unique<ReadReport>(parse_on_bad_record(options_.on_bad_line));
  plan_ = make_plan(options_, tokenizer, *report_);
  const bool is_validation = options_.split == Split::kValidation;
  const auto check_not_empty = [](bool has_data) {
    TITAN_USER_CHECK(has_data,
                     "[data] the validation split has no tokens. Add data or "
                     "change validation_fraction");
  };
  check_not_empty(!plan_->sources.empty());
  open_lanes();
  lanes_->wait_for(0);
  if (is_validation) {
    check_not_empty(lanes_->take(0).size() > 0);
    rewind();
  }
}

DataStream::~DataStream() = default;

void DataStream::open_lanes() {
  lanes_ = std::make_unique<LaneThreads>(
      *plan_, own_lanes(), options_.num_threads, options_.rows_ahead);
}

std::vector<int64_t> DataStream::own_lanes() const {
  if (options_.split == Split::kValidation) return {0};
  std::vector<int64_t> own;
  for (int64_t lane = options_.dp_rank; lane < plan_->num_lanes;
       lane += options_.dp_world)
    own.push_back(lane);
  return own;
}

int64_t DataStream::rows_per_microbatch() const {
  return options_.tokens_per_microbatch / options_.seq_len;
}

bool DataStream::next(Microbatch& batch) {
  return options_.split == Split::kTrain ? next_training(batch)
                                         : next_validation(batch);
}

bool DataStream::next_training(Microbatch& batch) {
  begin_batch(batch, options_.tokens_per_microbatch);
  const int64_t rows_per_step = options_.tokens_per_step / options_.seq_len;
  const auto num_own = static_cast<int64_t>(lanes_->states().size());
  for (int64_t slot = 0; slot < rows_per_microbatch(); ++slot) {
    const int64_t own_row = num_taken_ * rows_per_microbatch() + slot;
    const int64_t row = own_row * options_.dp_world + options_.dp_rank;
    const int64_t place = rows_per_step > 0 ? row % rows_per_step : row;
    write_row(lanes_->take(static_cast<size_t>(own_row % num_own)),
              options_.seq_len,
              slot,
              place * options_.seq_len,
              batch);
  }
  ++num_taken_;
  return true;
}

// Every rank reads every row, so all see the same end.
bool DataStream::next_validation(Microbatch& batch) {
  const int64_t first = num_taken_ * options_.dp_world;
  bool has_rows = false;
  for (int64_t rank = 0; rank < options_.dp_world; ++rank)
    for (int64_t slot = 0; slot < rows_per_microbatch(); ++slot) {
      const Row row = lanes_->take(0);
      if (!has_rows) {
        if (row.size() == 0) return false;
        has_rows = true;
        begin_batch(batch, options_.tokens_per_microbatch);
      }
      if (rank != options_.dp_rank) continue;
      const int64_t number = (first + rank) * rows_per_microbatch() + slot;
      write_row(row, options_.seq_len, slot, number * options_.seq_len, batch);
    }
  ++num_taken_;
  return true;
}

bool DataStream::has_ended() const {
  for (size_t i = 0; i < lanes_->states().size(); ++i)
    if (!lanes_->has_ended(i)) return false;
  return true;
}

void DataStream::rewind() {
  num_taken_ = 0;
  lanes_.reset();
  open_lanes();
}

DataMark DataStream::mark() const {
  return {num_taken_, lanes_->states()};
}

void DataStream::restore(const DataMark& mark) {
  num_taken_ = mark.num_taken;
  lanes_->restore(mark.lanes);
}

std::string DataStream::describe() const {
  int64_t num_units = 0;
  for (const Source& source : plan_->sources)
    num_units += source.dataset->num_units();
  return text("data: ",
              plan_->num_lanes,
              " lanes over ",
              num_units,
              " parts of the files; ",
              options_.num_threads,
              " threads keep ",
              options_.rows_ahead,
              " rows of each lane ready");
}

std::vector<std::string> DataStream::describe_mapped() const {
  std::vector<std::string> lines;
  std::vector<const SampleMapper*> seen;
  for (const Source& source : plan_->sources) {
    const SampleMapper* mapper = source.mapper.get();
    if (std::find(seen.begin(), seen.end(), mapper) != seen.end()) continue;
    seen.push_back(mapper);
    std::string line = mapper->describe();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string DataStream::state() const {
  Json json = identity(options_, *plan_);
  json["next_row"] = num_taken_ * rows_per_microbatch() * options_.dp_world;
  const std::vector<int64_t> own = own_lanes();
  Json states = Json::object();
  for (size_t i = 0; i < own.size(); ++i)
    states[std::to_string(own[i])] = Json::parse(to_json(*lanes_->states()[i]));
  json["lane_states"] = std::move(states);
  return json.dump();
}

std::string DataStream::merge(const std::vector<std::string>& states) {
  TITAN_CHECK(!states.empty(), "[data] no states to merge");
  Json merged = parse_state(states.front());
  for (const std::string& state : states) {
    Json json = parse_state(state);
    TITAN_CHECK(json["next_row"] == merged["next_row"],
                "[data] ranks stand at different rows: ",
                json["next_row"].dump());
    merged["lane_states"].update(json["lane_states"]);
  }
  return merged.dump();
}

void DataStream::restore(const std::string& state) {
  const Json json = parse_state(state);
  const Json current = identity(options_, *plan_);
  for (const auto& [key, expected] : current.items())
    TITAN_USER_CHECK(json.contains(key) && json[key] == expected,
                     "[data] the saved position is of other data or options, ",
                     key,
                     ": expected ",
                     json.contains(key) ? json[key].dump() : "nothing",
                     " (saved), got ",
                     expected.dump(),
                     ". Set it back, or start anew from the weights with "
                     "--from");
  const int64_t rows = rows_per_microbatch() * options_.dp_world;
  const int64_t next_row = json["next_row"].get<int64_t>();
  TITAN_USER_CHECK(next_row % rows == 0,
                   "[data] the saved position is inside a microbatch of this "
                   "layout: expected a multiple of ",
                   rows,
                   " rows, got ",
                   next_row,
                   ". Resume with the layout it was saved with, or from a "
                   "step's end");
  LaneStates lanes;
  for (const int64_t lane : own_lanes()) {
    const auto found = json["lane_states"].find(std::to_string(lane));
    TITAN_USER_CHECK(found != json["lane_states"].end(),
                     "[data] the saved state lacks lane ",
                     lane);
    lanes.push_back(std::make_shared<const LaneState>(
        lane_state_from_json(found->dump(), plan_->sources.size())));
  }
  restore(DataMark{next_row / rows, std::move(lanes)});
}

}  // namespace titan

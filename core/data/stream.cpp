// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/stream.h"

#include <numeric>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/data/corpus.h"
#include "core/data/permutation.h"
#include "core/tokenizer/tokenizer.h"

namespace titan {
namespace {

using Json = nlohmann::json;

constexpr int kStateFormat = 1;

const DataOptions& checked(const DataOptions& options) {
  check_options(options);
  return options;
}

int64_t divide_up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

// Everything the order depends on but dp_world and the microbatch's size.
Json identity(const DataOptions& options, const TokenStore& tokens) {
  const bool is_train = options.split == Split::kTrain;
  return {{"format", kStateFormat},
          {"split", is_train ? "train" : "validation"},
          {"seq_len", options.seq_len},
          {"shuffle", is_train && options.shuffle},
          {"seed", options.seed},
          {"num_tokens", tokens.num_tokens()},
          {"digest", tokens.digest()}};
}

}  // namespace

DataStream::DataStream(const DataOptions& options)
    : DataStream(checked(options), *load_tokenizer(options.tokenizer)) {}

DataStream::DataStream(const DataOptions& options, const Tokenizer& tokenizer)
    : options_(checked(options)),
      tokens_([&] {
        Corpus corpus = load_corpus(options, tokenizer);
        report_ = std::move(corpus.report);
        return std::move(corpus.tokens);
      }()),
      packer_(*tokens_, options.seq_len) {
  const bool is_train = options.split == Split::kTrain;
  rows_per_epoch_ = is_train ? packer_.num_full_rows() : packer_.num_rows();
  num_epochs_ = is_train ? options.epochs : 1;
  TITAN_USER_CHECK(rows_per_epoch_ > 0,
                   "[data.seq_len] the training data is shorter than one row: "
                   "expected at least ",
                   options.seq_len,
                   " tokens, got ",
                   num_tokens());
}

int64_t DataStream::rows_per_microbatch() const {
  return options_.tokens_per_microbatch / options_.seq_len;
}

int64_t DataStream::next_row() const {
  return num_taken_ * options_.dp_world * rows_per_microbatch();
}

int64_t DataStream::epoch() const {
  return next_row() / rows_per_epoch_;
}

std::optional<int64_t> DataStream::num_microbatches() const {
  if (num_epochs_ == 0) return std::nullopt;
  const int64_t num_global =
      divide_up(num_epochs_ * rows_per_epoch_, rows_per_microbatch());
  const bool has_steps =
      options_.split == Split::kTrain && options_.tokens_per_step > 0;
  const int64_t group =
      has_steps ? options_.tokens_per_step / options_.tokens_per_microbatch
                : options_.dp_world;
  return divide_up(num_global, group) * group / options_.dp_world;
}

int64_t DataStream::row_in_file_order(int64_t global_row) const {
  const int64_t place = global_row % rows_per_epoch_;
  if (options_.split == Split::kValidation || !options_.shuffle) return place;
  const int64_t row_epoch = global_row / rows_per_epoch_;
  return RowPermutation(rows_per_epoch_, options_.seed, row_epoch)(place);
}

bool DataStream::next(Microbatch& batch) {
  const std::optional<int64_t> end = num_microbatches();
  if (end && num_taken_ >= *end) return false;
  const int64_t tokens = options_.tokens_per_microbatch;
  const int64_t microbatch = num_taken_ * options_.dp_world + options_.dp_rank;
  const int64_t first_row = microbatch * rows_per_microbatch();
  begin_batch(batch, tokens);
  for (int64_t slot = 0; slot < rows_per_microbatch(); ++slot) {
    const int64_t row = first_row + slot;
    if (end && row >= num_epochs_ * rows_per_epoch_)
      packer_.pad_row(slot, batch);
    else
      packer_.pack_row(row_in_file_order(row), slot, batch);
  }
  int64_t first_index = microbatch * tokens;
  if (options_.tokens_per_step > 0) first_index %= options_.tokens_per_step;
  std::iota(batch.global_index.begin(), batch.global_index.end(), first_index);
  ++num_taken_;
  return true;
}

std::string DataStream::state() const {
  Json json = identity(options_, *tokens_);
  json["next_row"] = next_row();
  return json.dump();
}

void DataStream::restore(const std::string& state) {
  const Json json = Json::parse(state, nullptr, /*allow_exceptions=*/false);
  TITAN_USER_CHECK(json.is_object(), "[data] the saved state is not JSON");
  const Json current = identity(options_, *tokens_);
  for (const auto& [key, expected] : current.items())
    TITAN_USER_CHECK(json.contains(key) && json[key] == expected,
                     "[data] the saved state is of other data or options, ",
                     key,
                     ": expected ",
                     json.contains(key) ? json[key].dump() : "nothing",
                     " (saved), got ",
                     expected.dump());
  const Json row = json.value("next_row", Json());
  TITAN_USER_CHECK(row.is_number_integer() && row.get<int64_t>() >= 0,
                   "[data] the saved state has no next_row");
  const int64_t rows = rows_per_microbatch() * options_.dp_world;
  TITAN_USER_CHECK(row.get<int64_t>() % rows == 0,
                   "[data] the saved position is inside a microbatch of this "
                   "layout: expected a multiple of ",
                   rows,
                   " rows, got ",
                   row.get<int64_t>(),
                   ". Resume with the layout it was saved with, or from a "
                   "step's end");
  num_taken_ = row.get<int64_t>() / rows;
}

void DataStream::check_vocab(int64_t model_vocab) const {
  TITAN_USER_CHECK(tokens_->max_token() < model_vocab,
                   "[data] the data has token id ",
                   tokens_->max_token(),
                   ", but the model's vocabulary is smaller: expected at "
                   "least ",
                   tokens_->max_token() + 1,
                   ", got ",
                   model_vocab);
}

}  // namespace titan

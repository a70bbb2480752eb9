// SPDX-License-Identifier: BSD-3-Clause
// What tests of streams share: options for small files, and the rows of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/data/stream.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace titan::test {

inline const std::string kShakespeare =
    TITAN_SOURCE_DIR "/assets/tinyshakespeare/input.txt";
inline const std::string kTokenizer = TITAN_SOURCE_DIR "/assets/tokenizer";

/// Rows of 16 bytes, four a microbatch, eight lanes.
inline DataOptions options_for(const std::string& file,
                               const std::string& use = "text") {
  DataOptions options;
  options.sources.push_back({.use = use, .files = {file}});
  options.num_lanes = 8;
  options.seq_len = 16;
  options.tokens_per_microbatch = 64;
  options.seed = 5;
  return options;
}

/// Documents "d<i> " of `size` bytes each, unlike in every row.
inline std::string jsonl_of(int count, int size, const std::string& tag = "d") {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::string words = tag + std::to_string(i) + ' ';
    while (static_cast<int>(words.size()) < size) words += words;
    words.resize(static_cast<size_t>(size));
    lines += "{\"text\":\"" + words + "\"}\n";
  }
  return lines;
}

/// A row of a batch: everything that a model sees of it.
struct SeenRow {
  std::vector<int64_t> tokens;
  std::vector<int64_t> labels;
  std::vector<int32_t> positions;
  std::vector<int64_t> global_index;

  bool operator==(const SeenRow&) const = default;

  /// The text of each segment, without padding.
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (size_t t = 0; t < tokens.size(); ++t) {
      if (positions[t] == 0) out.emplace_back();
      if (tokens[t] != 0) out.back() += static_cast<char>(tokens[t]);
    }
    if (!out.empty() && out.back().empty()) out.pop_back();
    return out;
  }
};

inline std::vector<SeenRow> rows_of(const Microbatch& batch, int64_t seq_len) {
  std::vector<SeenRow> rows;
  const auto size = static_cast<int64_t>(batch.tokens.size());
  for (int64_t begin = 0; begin < size; begin += seq_len) {
    const auto cut = [&](const auto& values) {
      return std::decay_t<decltype(values)>(values.begin() + begin,
                                            values.begin() + begin + seq_len);
    };
    rows.push_back({cut(batch.tokens),
                    cut(batch.labels),
                    cut(batch.positions),
                    cut(batch.global_index)});
  }
  return rows;
}

/// The ranks of a run, each with its stream, in one thread.
class Ranks {
 public:
  Ranks(DataOptions options, int world, const Tokenizer& tokenizer)
      : seq_len_(options.seq_len) {
    options.dp_world = world;
    for (options.dp_rank = 0; options.dp_rank < world; ++options.dp_rank)
      streams_.push_back(std::make_unique<DataStream>(options, tokenizer));
  }

  /// A microbatch of every rank: its rows by global_index, hence in the order
  /// of the run.
  std::vector<SeenRow> step(int microbatches) {
    std::map<int64_t, SeenRow> rows;
    Microbatch batch;
    for (auto& stream : streams_)
      for (int i = 0; i < microbatches; ++i) {
        stream->next(batch);
        num_valid_ += batch.n_valid;
        for (SeenRow& row : rows_of(batch, seq_len_))
          rows[row.global_index.front()] = row;
      }
    std::vector<SeenRow> in_order;
    for (auto& [index, row] : rows) in_order.push_back(std::move(row));
    return in_order;
  }

  /// How often each text comes until the data ends.
  std::map<std::string, int> count_texts() {
    std::map<std::string, int> seen;
    while (!has_ended())
      for (const SeenRow& row : step(1))
        for (const std::string& text : row.texts()) ++seen[text];
    return seen;
  }

  std::string state() const {
    std::vector<std::string> states;
    for (const auto& stream : streams_) states.push_back(stream->state());
    return DataStream::merge(states);
  }
  void restore(const std::string& state) {
    for (auto& stream : streams_) stream->restore(state);
  }
  bool has_ended() const {
    for (const auto& stream : streams_)
      if (!stream->has_ended()) return false;
    return true;
  }
  int64_t num_valid() const { return num_valid_; }

 private:
  int64_t seq_len_;
  int64_t num_valid_ = 0;
  std::vector<std::unique_ptr<DataStream>> streams_;
};

}  // namespace titan::test

// SPDX-License-Identifier: BSD-3-Clause
// What a recipe says about data, plus the place of this rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/sample.h"

namespace titan {

/// An entry of data.sources.
struct SourceOptions {
  std::string use = "text";        ///< text, jsonl, tokens, or a plugin's id.
  std::vector<std::string> files;  ///< Files, folders, patterns.
  std::string field = "text";      ///< JSONL: where the text is.
  double weight = 1;               ///< Share of the rows, beside the others'.
  int64_t epochs = 0;              ///< Training only: passes; 0: no end.
  /// How records become samples; null: make_text_mapper, or chat_mapper().
  std::shared_ptr<const SampleMapper> mapper = nullptr;
  /// Of `use`, where that is a plugin's.
  std::shared_ptr<const DatasetOpener> opener = nullptr;
  /// Makes the mapper of an opener's dataset of messages.
  std::function<std::shared_ptr<const SampleMapper>()> chat_mapper = nullptr;
};

struct DataOptions {
  std::vector<SourceOptions> sources;  ///< One or several.
  std::string on_bad_line = "error";   ///< "error" or "skip".
  std::string on_exhausted;  ///< repeat, stop, error; empty: as epochs say.
  bool add_bos = false;      ///< Around each document.
  bool add_eos = false;

  /// Held out of every source: see text_dataset.cpp, jsonl_dataset.cpp.
  double validation_fraction = 0;
  /// Instead of a fraction; the sources are then all training. Read as the
  /// first source's files are.
  std::vector<std::string> validation_files;
  Split split = Split::kTrain;

  int64_t num_lanes = 64;                  ///< A multiple of dp_world.
  int64_t block_bytes = int64_t{1} << 20;  ///< What is shuffled within.
  std::string packing = "sequential";      ///< See packer.h.
  std::string too_long = "split";          ///< See sample.h.
  int num_threads = 1;                     ///< 0: nothing in the background.
  int64_t rows_ahead = 2;                  ///< Of each lane.

  int64_t seq_len = 0;                ///< Tokens per row.
  int64_t tokens_per_microbatch = 0;  ///< Per rank; a multiple of seq_len.
  /// Over all ranks; a multiple of tokens_per_microbatch * dp_world. 0: there
  /// are no steps, and global_index counts from the start of the run.
  int64_t tokens_per_step = 0;
  int64_t vocab_size = 0;  ///< The model's; an id beyond is an error. 0: any.

  uint64_t seed = 0;    ///< Decides every order.
  bool shuffle = true;  ///< Training only.

  int dp_rank = 0;
  int dp_world = 1;
};

/// What `entries` of data.files or data.validation_files name, as the source's
/// `use` says. UserError: see expand_files.
std::vector<std::string> expand_source_files(
    const SourceOptions& source,
    const std::vector<std::string>& entries);

/// UserError where options contradict themselves or each other; the message's
/// tag is the key.
void check_options(const DataOptions& options);

}  // namespace titan

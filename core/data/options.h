// SPDX-License-Identifier: BSD-3-Clause
// What a recipe says about data, plus the place of this rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace titan {

enum class Split { kTrain, kValidation };

struct DataOptions {
  std::string use = "text";  ///< "text" or "jsonl"; see source.h.
  std::vector<std::string> files;
  std::string field = "text";         ///< JSONL: where the text is.
  std::string on_bad_line = "error";  ///< JSONL: "error" or "skip".
  std::string tokenizer;              ///< See load_tokenizer.
  bool add_bos = false;               ///< Around each document.
  bool add_eos = false;

  /// Held out of `files`. Text: the end of each file, cut at byte
  /// floor(size * (1 - fraction)), moved back to the start of a character.
  /// JSONL: documents whose text's hash falls below the fraction, so equal
  /// documents are never in both splits, whatever their order.
  double validation_fraction = 0;
  /// Instead of a fraction; `files` is then all training.
  std::vector<std::string> validation_files;
  Split split = Split::kTrain;

  int64_t seq_len = 0;                ///< Tokens per packed row.
  int64_t tokens_per_microbatch = 0;  ///< Per rank; a multiple of seq_len.
  /// Over all ranks; a multiple of tokens_per_microbatch * dp_world. 0: there
  /// are no steps, and global_index counts from the start of the run.
  int64_t tokens_per_step = 0;

  uint64_t seed = 0;    ///< With the epoch, decides the order of rows.
  bool shuffle = true;  ///< Training only: rows in a new order each epoch.
  int64_t epochs = 0;   ///< Training only: passes over the data; 0: no end.

  int dp_rank = 0;
  int dp_world = 1;
};

/// UserError where options contradict themselves or each other; the message's
/// tag is the key.
void check_options(const DataOptions& options);

}  // namespace titan

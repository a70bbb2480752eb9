// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/options.h"

#include <limits>

#include <titan/error.h>

#include "core/data/source.h"

namespace titan {
namespace {

void check_files_and_split(const DataOptions& options) {
  TITAN_USER_CHECK(options.use == "text" || options.use == "jsonl",
                   "[data.use] expected text or jsonl, got ",
                   options.use);
  parse_on_bad_line(options.on_bad_line);
  TITAN_USER_CHECK(!options.files.empty(),
                   "[data.files] expected at least one file, got none");
  TITAN_USER_CHECK(options.use != "jsonl" || !options.field.empty(),
                   "[data.field] expected a field's name, got an empty one");
  const double fraction = options.validation_fraction;
  TITAN_USER_CHECK(fraction >= 0 && fraction < 1,
                   "[data.validation_fraction] expected 0 <= fraction < 1, "
                   "got ",
                   fraction);
  const bool has_files = !options.validation_files.empty();
  TITAN_USER_CHECK(fraction == 0 || !has_files,
                   "[data.validation_files] give either validation_files or "
                   "validation_fraction, not both");
  TITAN_USER_CHECK(
      options.split == Split::kTrain || fraction > 0 || has_files,
      "[data] there is no validation data. Set validation_fraction or "
      "validation_files");
}

void check_sizes(const DataOptions& options) {
  TITAN_USER_CHECK(options.seq_len > 0,
                   "[data.seq_len] expected a positive number, got ",
                   options.seq_len);
  const int64_t tokens = options.tokens_per_microbatch;
  TITAN_USER_CHECK(tokens > 0 && tokens % options.seq_len == 0,
                   "[data.tokens_per_microbatch] expected a positive multiple "
                   "of seq_len ",
                   options.seq_len,
                   ", got ",
                   tokens);
  // cu_seqlens and positions are int32.
  TITAN_USER_CHECK(tokens <= std::numeric_limits<int32_t>::max(),
                   "[data.tokens_per_microbatch] expected less than 2^31, "
                   "got ",
                   tokens);
  TITAN_USER_CHECK(options.dp_world > 0 && options.dp_rank >= 0 &&
                       options.dp_rank < options.dp_world,
                   "[data] dp_rank: expected a rank below dp_world ",
                   options.dp_world,
                   ", got ",
                   options.dp_rank);
  TITAN_USER_CHECK(
      options.tokens_per_step >= 0 &&
          options.tokens_per_step % (tokens * options.dp_world) == 0,
      "[data.tokens_per_step] expected a multiple of "
      "tokens_per_microbatch ",
      tokens,
      " x data-parallel ranks ",
      options.dp_world,
      ", got ",
      options.tokens_per_step);
  TITAN_USER_CHECK(options.epochs >= 0,
                   "[data.epochs] expected a non-negative number, got ",
                   options.epochs);
}

}  // namespace

void check_options(const DataOptions& options) {
  check_files_and_split(options);
  check_sizes(options);
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/options.h"

#include <limits>

#include <titan/error.h>

#include "core/data/file_list.h"
#include "core/data/packer.h"
#include "core/data/read_report.h"

namespace titan {
namespace {

void check_source(const SourceOptions& source, const DataOptions& options) {
  TITAN_USER_CHECK(source.opener || source.use == "text" ||
                       source.use == "jsonl" || source.use == "tokens",
                   "[data.use] expected text, jsonl, tokens or the id of a "
                   "plugin's dataset, got ",
                   source.use);
  const bool needs_files = !source.opener || source.opener->endings();
  TITAN_USER_CHECK(!source.files.empty() || !needs_files,
                   "[data.files] expected at least one file, got none");
  TITAN_USER_CHECK(source.use != "jsonl" || !source.field.empty() ||
                       (source.mapper && source.mapper->reads_json()),
                   "[data.field] expected a field's name, got an empty one");
  TITAN_USER_CHECK(source.epochs >= 0,
                   "[data.epochs] expected a non-negative number, got ",
                   source.epochs);
  const std::string& end = options.on_exhausted;
  TITAN_USER_CHECK(
      end.empty() || end == "repeat" || end == "stop" || end == "error",
      "[data.on_exhausted] expected repeat, stop or error, got ",
      end);
  TITAN_USER_CHECK(end != "repeat" || source.epochs == 0,
                   "[data.epochs] ",
                   source.epochs,
                   " passes contradict on_exhausted: repeat. Leave one out");
}

void check_split(const DataOptions& options) {
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

void check_lanes(const DataOptions& options) {
  TITAN_USER_CHECK(options.dp_world > 0 && options.dp_rank >= 0 &&
                       options.dp_rank < options.dp_world,
                   "[data] dp_rank: expected a rank below dp_world ",
                   options.dp_world,
                   ", got ",
                   options.dp_rank);
  TITAN_USER_CHECK(
      options.split == Split::kValidation ||
          (options.num_lanes > 0 && options.num_lanes % options.dp_world == 0),
      "[data.lanes] expected a multiple of the ",
      options.dp_world,
      " data-parallel ranks, which share the lanes evenly, got ",
      options.num_lanes);
  TITAN_USER_CHECK(options.block_bytes > 0,
                   "[data.shuffle_buffer] expected a positive number, got ",
                   options.block_bytes);
  TITAN_USER_CHECK(options.num_threads >= 0 && options.num_threads <= 256,
                   "[data.threads] expected 0 to 256, got ",
                   options.num_threads);
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
}

}  // namespace

std::vector<std::string> expand_source_files(
    const SourceOptions& source,
    const std::vector<std::string>& entries) {
  if (!source.opener) return expand_files(entries, endings_for(source.use));
  const auto& endings = source.opener->endings();
  return endings ? expand_files(entries, *endings) : entries;
}

void check_options(const DataOptions& options) {
  TITAN_USER_CHECK(!options.sources.empty(),
                   "[data.sources] expected at least one, got none");
  for (const SourceOptions& source : options.sources)
    check_source(source, options);
  parse_on_bad_record(options.on_bad_line);
  check_split(options);
  check_lanes(options);
  check_sizes(options);
  const Packing packing = parse_packing(options.packing);
  TITAN_USER_CHECK(
      parse_too_long(options.too_long) == TooLong::kSplit ||
          packing != Packing::kSequential,
      "[data.too_long] ",
      options.too_long,
      ": expected packing best_fit or none (sequential packing cuts samples "
      "at every row's end), got sequential");
}

}  // namespace titan

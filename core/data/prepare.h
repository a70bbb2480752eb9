// SPDX-License-Identifier: BSD-3-Clause
// Tokenises a dataset once, into token files (docs/data_format.md) that any
// number of runs read in place. Resumable: what is whole stays.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/checkpoint/storage.h"
#include "core/data/dataset.h"
#include "core/data/sample.h"

namespace titan {

struct PrepareOptions {
  std::string use = "text";  ///< text, jsonl, or a plugin's id.
  /// Of `use`, where that is a plugin's.
  std::shared_ptr<const DatasetOpener> opener = nullptr;
  std::vector<std::string> files;
  std::string field = "text";
  std::string folder;                     ///< To write; made where absent.
  int64_t tokens_per_file = 100'000'000;  ///< A file ends at the block after.
};

struct PrepareProgress {
  int64_t units_done = 0;
  int64_t num_units = 0;
  int64_t num_tokens = 0;
  int64_t num_documents = 0;
  int64_t num_files = 0;
};

/// Called behind each block, on the calling thread.
using ShowProgress = std::function<void(const PrepareProgress&)>;

/// Writes what is missing of `options.folder`; returns the whole. `report`
/// says what to do with bad records and what was passed over. UserError: see
/// the datasets; the folder holds other data, or damaged files.
PrepareProgress prepare_tokens(const PrepareOptions& options,
                               const SampleMapper& mapper,
                               int64_t vocab_size,
                               ReadReport& report,
                               checkpoint::FileSystem& files,
                               const ShowProgress& show);

/// UserError where `file` is of a prepared folder with another mapper than the
/// one with `fingerprint`; nothing for other files.
void check_prepared_with(const std::string& file, uint64_t fingerprint);

}  // namespace titan

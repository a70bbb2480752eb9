// SPDX-License-Identifier: BSD-3-Clause
// A record: what a dataset holds and a sample mapper (sample.h) turns into
// samples. Text is one document or a piece of it; JSONL one field's text, or
// the whole line for mappers that read JSON themselves; token files bring ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <titan/error.h>

namespace titan {

/// Where a record is: enough to read it again and to name it. `offset` counts
/// bytes (of compressed files: after decompression), tokens or rows, as the
/// dataset says.
struct RecordPlace {
  int32_t file = 0;
  int64_t offset = 0;
};

struct Record {
  std::string content;       ///< Text or JSON; empty where `ids` are given.
  std::vector<int32_t> ids;  ///< Of token files.
  /// `ids` ends with a token of the next piece: a target, not an input.
  bool has_lookahead = false;
  /// False for a piece cut out of a document: no BOS before, no EOS behind.
  bool begins_document = true;
  bool ends_document = true;
  RecordPlace place;
};

/// A record that cannot be used; the message says why, without the place. Who
/// reads adds "file:line: " and follows data.on_bad_line.
class BadRecord : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace titan

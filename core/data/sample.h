// SPDX-License-Identifier: BSD-3-Clause
// A sample: the ids of one document or conversation, with which of them are
// targets. Packers lay samples into rows; a sample sees nothing but itself.
// The mapper is the place where a record becomes samples: plain text here
// (make_text_mapper), conversations and pairs elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/record.h"

namespace titan {

class Tokenizer;

struct Sample {
  std::vector<int32_t> ids;
  /// Per id: 1 where the model learns to predict it, given the ids before it.
  /// Empty: every id. The first id of a sample is never predicted.
  std::vector<uint8_t> is_target;
  /// The last id is a target only: it begins the document's next piece.
  bool has_lookahead = false;

  /// Tokens that take a place in a row.
  int64_t num_inputs() const {
    return static_cast<int64_t>(ids.size()) - (has_lookahead ? 1 : 0);
  }
};

/// What happens to a sample longer than a row.
enum class TooLong {
  kSplit,     ///< Cut into rows; the cut loses no target.
  kTruncate,  ///< Its first seq_len tokens; counted.
  kDrop,      ///< Left out; counted.
};

/// A pure function of the record, so that a stream can be resumed by reading a
/// record again. Called by several threads at once.
class SampleMapper {
 public:
  virtual ~SampleMapper() = default;

  /// Appends the samples of `record`: none, one or several; a sample without
  /// inputs is passed over. `record` may be emptied. Throws BadRecord.
  virtual void map(Record& record, std::vector<Sample>& samples) const = 0;

  /// Whether records are to be whole JSON lines rather than one field's text.
  virtual bool reads_json() const { return false; }

  /// Identifies what map() computes: equal mappers, equal number. Saved with
  /// the stream's position; a run continues only under the same.
  virtual uint64_t fingerprint() const = 0;

  /// One line for the log: what map() made of the records so far. Empty: there
  /// is nothing to say.
  virtual std::string describe() const { return {}; }
};

/// Tokenises text (or passes ids through), with BOS and EOS around whole
/// documents where asked. `tokenizer` must outlive the mapper.
std::unique_ptr<SampleMapper> make_text_mapper(const Tokenizer& tokenizer,
                                               bool add_bos,
                                               bool add_eos);

/// A number for a tokenizer: of its size, special ids and the ids of a text
/// with many scripts.
uint64_t fingerprint_of(const Tokenizer& tokenizer);

}  // namespace titan

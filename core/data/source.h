// SPDX-License-Identifier: BSD-3-Clause
// Where documents come from: text files (a file is a document) and JSONL (a
// line is a document). Streams: one document in memory at a time.
//
// What happens to a line of JSONL:
//   an object whose field is a text that is not empty   a document
//   only white space                                    passed over, counted
//   the field is the empty text                         passed over, counted
//   anything else (not UTF-8, not JSON, a lone          a bad line: error, or
//   surrogate, not an object, no field, null, ...)      skipped and counted
// A CR before the LF belongs to the line's end; the last LF may be missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace titan {

struct Document {
  std::string text;
  std::string location;  ///< "file" or "file:line", for messages.
};

enum class OnBadLine { kError, kSkip };

/// Returns the policy that `name` ("error" or "skip") stands for; UserError
/// otherwise.
OnBadLine parse_on_bad_line(const std::string& name);

/// What a source has read so far. Callers log the counts that are not zero.
struct SourceReport {
  int64_t num_documents = 0;
  int64_t num_blank_lines = 0;
  int64_t num_empty_documents = 0;
  int64_t num_bad_lines = 0;
  std::vector<std::string> first_bad_lines;  ///< At most five messages.
};

class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Fills `document` with the next one; false at the end. UserError: a file
  /// cannot be read, or a line is bad and the policy is kError (the message
  /// begins with "file:line: ").
  virtual bool next(Document& document) = 0;
  const SourceReport& report() const { return report_; }

 protected:
  SourceReport report_;
};

/// Both check first that every file exists and is not empty (UserError).
std::unique_ptr<DocumentSource> make_text_source(
    std::vector<std::string> files);
std::unique_ptr<DocumentSource> make_jsonl_source(
    std::vector<std::string> files,
    std::string field,
    OnBadLine on_bad_line);

}  // namespace titan

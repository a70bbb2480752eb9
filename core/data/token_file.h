// SPDX-License-Identifier: BSD-3-Clause
// Files of token ids, read in place: Titan's own (docs/data_format.md), those
// of llm.c, and nanoGPT's, which are ids of two bytes and nothing else. Widths
// and counts come from the file and must agree with its size; nothing in it is
// trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/mapped_file.h"
#include "core/checkpoint/storage.h"

namespace titan {

/// Immutable: any thread may call.
class TokenFile {
 public:
  /// UserError: no such file, or one whose header, size and index disagree.
  explicit TokenFile(const std::string& path);

  int64_t num_tokens() const { return num_tokens_; }
  int token_bytes() const { return token_bytes_; }
  /// First tokens of the documents, ascending from 0; none where the format
  /// does not tell documents apart.
  int64_t num_documents() const { return num_documents_; }
  int64_t document_start(int64_t document) const;
  /// The last document that begins at or before `token`.
  int64_t document_at(int64_t token) const;
  /// Appends the ids [begin, end). An id of four bytes beyond 2^31 comes out
  /// negative.
  void read(int64_t begin, int64_t end, std::vector<int32_t>& ids) const;
  /// Compares the checksum of Titan's format, reading everything; UserError.
  void verify() const;

 private:
  void open_titan();
  bool open_llm_c();
  void open_raw();

  std::string path_;
  checkpoint::MappedFile file_;
  int64_t tokens_begin_ = 0;  // Bytes.
  int64_t starts_begin_ = 0;
  int64_t num_tokens_ = 0;
  int64_t num_documents_ = 0;
  int token_bytes_ = 2;
};

/// What a finished token file holds.
struct TokenFileFacts {
  int64_t num_tokens = 0;
  int64_t num_documents = 0;
  uint64_t checksum = 0;
};

/// Writes Titan's format front to back. The file appears under its name, whole
/// and synced, at finish(); before, it is `.tmp-` and the name.
class TokenFileWriter {
 public:
  /// `token_bytes` is 2 or 4.
  TokenFileWriter(checkpoint::FileSystem& files,
                  const std::string& path,
                  int token_bytes);
  ~TokenFileWriter();

  /// Appends ids; the first of a document where `begins_document` says so.
  /// BugError for an id that does not fit: it must never wrap.
  void append(std::span<const int32_t> ids, bool begins_document);
  int64_t num_tokens() const { return num_tokens_; }
  TokenFileFacts finish();

 private:
  struct Sum;
  void write(std::span<const std::byte> bytes);

  checkpoint::FileSystem& files_;
  std::string path_;
  int token_bytes_;
  std::unique_ptr<checkpoint::WritableFile> file_;
  std::unique_ptr<Sum> sum_;
  std::vector<std::byte> bytes_;
  std::vector<uint64_t> starts_;
  int64_t num_tokens_ = 0;
};

}  // namespace titan

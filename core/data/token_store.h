// SPDX-License-Identifier: BSD-3-Clause
// The tokens of one split, in order, with where documents begin. An interface,
// so that files of tokens larger than memory can take its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace titan {

class TokenStore {
 public:
  virtual ~TokenStore() = default;

  virtual int64_t num_tokens() const = 0;
  virtual int64_t num_documents() const = 0;
  /// Largest id stored; -1 where there is none.
  virtual int32_t max_token() const = 0;
  /// Identifies tokens and document boundaries: equal contents, equal digest.
  virtual uint64_t digest() const = 0;
  /// Copies the tokens from `begin` on; [begin, begin + size) must exist.
  virtual void read(int64_t begin, std::span<int32_t> out) const = 0;
  /// Appends the first positions of documents within [begin, end), ascending.
  virtual void append_document_starts(int64_t begin,
                                      int64_t end,
                                      std::vector<int64_t>& out) const = 0;
};

/// Holds everything in memory, two bytes per token while ids allow it.
class InMemoryTokenStore final : public TokenStore {
 public:
  /// Adds a document behind the others. `ids` is not empty, ids are >= 0.
  void add_document(std::span<const int32_t> ids);

  int64_t num_tokens() const override;
  int64_t num_documents() const override;
  int32_t max_token() const override { return max_token_; }
  uint64_t digest() const override { return digest_; }
  void read(int64_t begin, std::span<int32_t> out) const override;
  void append_document_starts(int64_t begin,
                              int64_t end,
                              std::vector<int64_t>& out) const override;

 private:
  void widen();

  std::vector<uint16_t> narrow_;
  std::vector<uint32_t> wide_;  // In place of narrow_ once an id needs it.
  bool is_wide_ = false;
  std::vector<int64_t> starts_;
  int32_t max_token_ = -1;
  uint64_t digest_ = 0;
};

}  // namespace titan

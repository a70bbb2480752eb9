// SPDX-License-Identifier: BSD-3-Clause
// Conversations for the stream: what a recipe's `use: chat` reads JSONL with.
#pragma once

#include <memory>
#include <mutex>

#include "core/data/chat_sample.h"
#include "core/data/sample.h"

namespace titan {

/// One sample per line, or none; see chat_record.h for the forms.
class ChatMapper final : public SampleMapper {
 public:
  /// `tokenizer` must outlive this.
  ChatMapper(const Tokenizer& tokenizer,
             chat::ChatTemplates templates,
             const ChatSampleOptions& options);

  void map(Record& record, std::vector<Sample>& samples) const override;
  bool reads_json() const override { return true; }
  uint64_t fingerprint() const override;
  std::string describe() const override;

  /// Of what all threads have mapped so far; a line that is read again counts
  /// again.
  ChatCounts counts() const;

 private:
  const Tokenizer& tokenizer_;
  uint64_t identity_;
  ChatSampler sampler_;
  mutable std::mutex mutex_;
  mutable ChatCounts counts_;
};

}  // namespace titan

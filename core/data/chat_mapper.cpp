// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/chat_mapper.h"

#include <titan/text.h>

#include "core/data/hash.h"

namespace titan {
namespace {

uint64_t identify(const chat::ChatTemplates& templates,
                  const ChatSampleOptions& options) {
  uint64_t state = 0;
  for (const auto& [name, one] : templates.by_name())
    state = combine_hash(combine_hash(state, hash_bytes(name)),
                         hash_bytes(one.source()));
  const std::tm date = options.date.value_or(std::tm{});
  for (const int64_t part : {static_cast<int64_t>(options.loss_on),
                             static_cast<int64_t>(options.truncation),
                             options.max_tokens,
                             int64_t{options.add_bos},
                             int64_t{options.add_eos},
                             int64_t{date.tm_year},
                             int64_t{date.tm_mon},
                             int64_t{date.tm_mday}})
    state = combine_hash(state, static_cast<uint64_t>(part));
  return state;
}

}  // namespace

ChatMapper::ChatMapper(const Tokenizer& tokenizer,
                       chat::ChatTemplates templates,
                       const ChatSampleOptions& options)
    : tokenizer_(tokenizer),
      identity_(identify(templates, options)),
      sampler_(tokenizer, std::move(templates), options) {}

void ChatMapper::map(Record& record, std::vector<Sample>& samples) const {
  ChatCounts made;
  std::optional<Sample> sample =
      sampler_.sample(parse_dialogue(record.content), made);
  if (sample) samples.push_back(std::move(*sample));
  const std::lock_guard lock(mutex_);
  counts_ += made;
}

uint64_t ChatMapper::fingerprint() const {
  return combine_hash(fingerprint_of(tokenizer_), identity_);
}

std::string ChatMapper::describe() const {
  const ChatCounts found = counts();
  std::string line = text("conversations: ",
                          found.num_dialogues,
                          " read (rows read ahead included), ",
                          found.num_targets,
                          " of their ",
                          found.num_tokens,
                          " tokens learnt");
  const auto add = [&](int64_t count, std::string_view what) {
    if (count > 0) line += text("; ", count, ' ', what);
  };
  add(found.num_truncated, "longer than a row and truncated");
  add(found.num_too_long, "longer than a row and left out");
  add(found.num_without_target, "without anything to learn and left out");
  add(found.num_cut_tokens, "learnt tokens only in part the assistant's");
  return line;
}

ChatCounts ChatMapper::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace titan

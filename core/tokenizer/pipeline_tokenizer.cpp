// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/pipeline_tokenizer.h"

#include <algorithm>

namespace titan {

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts)
    : TextTokenizer(std::move(parts.frame)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      model_(std::move(parts.model)),
      decoder_(std::move(parts.decoder)) {}

int64_t PipelineTokenizer::vocab_size() const {
  return std::max(static_cast<int64_t>(model_->tokens().end()), added().end());
}

std::optional<int32_t> PipelineTokenizer::token_id(
    std::string_view token) const {
  if (const auto id = added().find(token)) return id;
  return model_->tokens().find(token);
}

void PipelineTokenizer::append_section(std::string_view text,
                                       bool is_at_start,
                                       Scratch& scratch,
                                       std::vector<int32_t>& ids) const {
  scratch.list.start(text, is_at_start);
  if (pre_tokenizer_) pre_tokenizer_->apply(scratch.list);
  for (const PieceList::Piece& piece : scratch.list.pieces()) {
    const std::span<const int32_t> known = scratch.cache.find(piece.text);
    if (!known.empty()) {
      ids.insert(ids.end(), known.begin(), known.end());
      continue;
    }
    const size_t begin = ids.size();
    model_->append_ids(piece.text, scratch.model, ids);
    if (ids.size() > begin)
      scratch.cache.store(piece.text, std::span(ids).subspan(begin));
  }
}

std::string PipelineTokenizer::decode(std::span<const int32_t> ids,
                                      bool skip_special) const {
  std::vector<std::string> parts;
  for (const int32_t id : ids) {
    const std::string* text = added().text_of(id);
    if (!text) text = model_->tokens().text_of(id);
    if (!text)
      parts.emplace_back("\xEF\xBF\xBD");
    else if (!skip_special || !added().is_special(*text))
      parts.push_back(*text);
  }
  if (decoder_ && !parts.empty()) decoder_->apply(parts);
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !decoder_) out.push_back(' ');
    out.append(parts[i]);
  }
  return out;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/text_tokenizer.h"

#include <titan/error.h>

#include "core/tokenizer/utf8.h"

namespace titan {

// Given back also when a text is refused.
class TextTokenizer::Loan {
 public:
  explicit Loan(const TextTokenizer& owner) : owner_(owner) {
    const std::lock_guard lock(owner_.mutex_);
    if (owner_.idle_.empty()) return;
    scratch_ = std::move(owner_.idle_.back());
    owner_.idle_.pop_back();
  }
  ~Loan() {
    if (!scratch_) return;
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(scratch_));
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  Scratch& get() {
    if (!scratch_) scratch_ = std::make_unique<Scratch>();
    return *scratch_;
  }

 private:
  const TextTokenizer& owner_;
  std::unique_ptr<Scratch> scratch_;
};

TextTokenizer::TextTokenizer(TokenizerFrame frame)
    : normalizer_(std::move(frame.normalizer)),
      added_(frame.added_tokens, normalizer_.get()),
      around_(std::move(frame.around)) {
  special_tokens_ = std::move(frame.special);
}

void TextTokenizer::append_ids(std::string_view text,
                               std::vector<int32_t>& ids) const {
  const std::optional<size_t> bad = find_invalid_utf8(text);
  TITAN_USER_CHECK(!bad,
                   "[tokenizer] text is not UTF-8: ill-formed byte at offset ",
                   bad.value_or(0),
                   ". Convert the text to UTF-8, or use the bytes tokenizer");
  Loan loan(*this);
  Scratch& scratch = loan.get();
  scratch.spans.clear();
  added_.raw().append_spans(text, scratch.spans);
  for (const TextSpan& span : scratch.spans) {
    if (span.id >= 0)
      ids.push_back(span.id);
    else
      append_normalized(span, span.text.data() == text.data(), scratch, ids);
  }
}

void TextTokenizer::append_normalized(const TextSpan& span,
                                      bool is_at_start,
                                      Scratch& scratch,
                                      std::vector<int32_t>& ids) const {
  SourceText source;
  source.is_at_start = is_at_start;
  std::string_view text = span.text;
  if (normalizer_) {
    source.text = text;
    normalizer_->apply(source);
    text = source.text;
  }
  scratch.inner_spans.clear();
  added_.normalized().append_spans(text, scratch.inner_spans);
  for (const TextSpan& inner : scratch.inner_spans) {
    if (inner.id >= 0)
      ids.push_back(inner.id);
    else
      append_section(inner.text,
                     source.is_at_start && inner.text.data() == text.data(),
                     scratch,
                     ids);
  }
}

std::vector<int32_t> TextTokenizer::encode_with_template(
    std::string_view text) const {
  std::vector<int32_t> ids = around_.before;
  append_ids(text, ids);
  ids.insert(ids.end(), around_.after.begin(), around_.after.end());
  return ids;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Plain text to one sample: its tokens, all of them targets. Ids pass through.
#include "core/data/hash.h"
#include "core/data/sample.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

// Letters, digits, spaces, accents, Cyrillic, Chinese, an emoji, code: tables
// and merges of unlike tokenizers differ somewhere in it.
constexpr std::string_view kProbe =
    "The quick brown fox's 12345 jumps\n\n\tover  \xC3\xA9t\xC3\xA9 "
    "\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 "
    "\xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80 int main() { return 0; }";

class TextMapper final : public SampleMapper {
 public:
  TextMapper(const Tokenizer& tokenizer, bool add_bos, bool add_eos)
      : tokenizer_(tokenizer), add_bos_(add_bos), add_eos_(add_eos) {
    tokenizer_.encode("", add_bos, add_eos);  // UserError without the token.
  }

  void map(Record& record, std::vector<Sample>& samples) const override {
    Sample sample;
    if (record.ids.empty()) {
      check_utf8(record.content);
      sample.ids = tokenizer_.encode(record.content,
                                     add_bos_ && record.begins_document,
                                     add_eos_ && record.ends_document);
    } else {
      sample.ids = std::move(record.ids);
      sample.has_lookahead = record.has_lookahead;
    }
    samples.push_back(std::move(sample));
  }

  uint64_t fingerprint() const override {
    const uint64_t flags = (add_bos_ ? 1 : 0) + (add_eos_ ? 2 : 0);
    return combine_hash(fingerprint_of(tokenizer_), flags);
  }

 private:
  void check_utf8(std::string_view content) const {
    if (tokenizer_.accepts_any_bytes()) return;
    if (const auto bad = find_invalid_utf8(content))
      throw BadRecord(text("text is not UTF-8: ill-formed byte at offset ",
                           *bad,
                           ". Convert the file to UTF-8, or use the bytes "
                           "tokenizer"));
  }

  const Tokenizer& tokenizer_;
  bool add_bos_;
  bool add_eos_;
};

}  // namespace

std::unique_ptr<SampleMapper> make_text_mapper(const Tokenizer& tokenizer,
                                               bool add_bos,
                                               bool add_eos) {
  return std::make_unique<TextMapper>(tokenizer, add_bos, add_eos);
}

uint64_t fingerprint_of(const Tokenizer& tokenizer) {
  uint64_t state = mix_bits(static_cast<uint64_t>(tokenizer.vocab_size()));
  for (const auto& id : {tokenizer.bos_id(), tokenizer.eos_id()})
    state = combine_hash(state, static_cast<uint64_t>(id.value_or(-1)));
  for (const int32_t id : tokenizer.encode(kProbe, false, false))
    state = combine_hash(state, static_cast<uint64_t>(id));
  return state;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/corpus.h"

#include <titan/error.h>

#include "core/data/hash.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

std::unique_ptr<DocumentSource> make_source(const DataOptions& options) {
  const bool is_validation_files =
      options.split == Split::kValidation && !options.validation_files.empty();
  const auto& files =
      is_validation_files ? options.validation_files : options.files;
  if (options.use == "text") return make_text_source(files);
  return make_jsonl_source(
      files, options.field, parse_on_bad_line(options.on_bad_line));
}

// The part of a document that belongs to the split; may be empty.
std::string_view select_split(const Document& document,
                              const DataOptions& options) {
  const std::string_view text = document.text;
  const double fraction = options.validation_fraction;
  if (fraction == 0) return text;
  const bool is_train = options.split == Split::kTrain;
  if (options.use == "jsonl")
    return is_held_out(text, fraction) != is_train ? text : "";
  const size_t cut = find_validation_cut(text, fraction);
  return is_train ? text.substr(0, cut) : text.substr(cut);
}

void check_utf8(const Document& document) {
  const auto bad = find_invalid_utf8(document.text);
  TITAN_USER_CHECK(!bad,
                   '[',
                   document.location,
                   "] text is not UTF-8: ill-formed byte at offset ",
                   bad.value_or(0),
                   ". Convert the file to UTF-8, or use the bytes tokenizer");
}

}  // namespace

Corpus load_corpus(const DataOptions& options, const Tokenizer& tokenizer) {
  const auto source = make_source(options);
  auto tokens = std::make_unique<InMemoryTokenStore>();
  Document document;
  while (source->next(document)) {
    if (!tokenizer.accepts_any_bytes()) check_utf8(document);
    const std::string_view text = select_split(document, options);
    if (!text.empty())
      tokens->add_document(
          tokenizer.encode(text, options.add_bos, options.add_eos));
  }
  TITAN_USER_CHECK(tokens->num_tokens() > 0,
                   "[data] the ",
                   options.split == Split::kTrain ? "training" : "validation",
                   " split has no tokens, out of ",
                   source->report().num_documents,
                   " documents. Add data or change validation_fraction");
  return {std::move(tokens), source->report()};
}

size_t find_validation_cut(std::string_view text, double fraction) {
  auto cut =
      static_cast<size_t>(static_cast<double>(text.size()) * (1 - fraction));
  // A character has at most three continuation bytes; other bytes are kept
  // whole by the bytes tokenizer wherever the cut is.
  for (int i = 0; i < 3 && cut > 0 && cut < text.size(); ++i)
    if (is_utf8_continuation(text[cut])) --cut;
  return cut;
}

bool is_held_out(std::string_view text, double fraction) {
  // 53 bits: exact in a double.
  const uint64_t bits = mix_bits(hash_bytes(text)) >> 11;
  return static_cast<double>(bits) * 0x1p-53 < fraction;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// From files to the tokens of one split: reads documents, holds out, tokenises.
#pragma once

#include <memory>
#include <string_view>

#include "core/data/options.h"
#include "core/data/source.h"
#include "core/data/token_store.h"
#include "core/tokenizer/tokenizer.h"

namespace titan {

struct Corpus {
  std::unique_ptr<const TokenStore> tokens;
  SourceReport report;
};

/// Reads and tokenises `options.split`. UserError: a file is missing, empty or
/// (unless the tokenizer takes any bytes) not UTF-8, a bad line under the
/// policy "error", or nothing is left for the split.
Corpus load_corpus(const DataOptions& options, const Tokenizer& tokenizer);

/// Returns the byte at which the held-out end of `text` begins.
size_t find_validation_cut(std::string_view text, double fraction);

/// Whether a JSONL document is held out: a function of its text alone.
bool is_held_out(std::string_view text, double fraction);

}  // namespace titan

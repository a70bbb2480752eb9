// SPDX-License-Identifier: BSD-3-Clause
// The recipe's section data.chat: what reads lines of conversations where
// `use: chat` says so.
#pragma once

#include "core/config/recipe.h"
#include "core/data/options.h"
#include "core/tokenizer/tokenizer.h"

namespace titan::train {

/// Turns sources with `use: chat` into JSONL with a mapper; options.seq_len and
/// the flags for BOS and EOS are read before. `tokenizer` must outlive them.
/// UserError: a template is missing or malformed, the date is none.
void apply_chat_section(const config::Recipe& recipe,
                        const Tokenizer& tokenizer,
                        DataOptions& options);

}  // namespace titan::train

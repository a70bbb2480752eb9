// SPDX-License-Identifier: BSD-3-Clause
// The recipe's section data.chat: what reads conversations, where `use: chat`
// or a plugin's dataset has them.
#pragma once

#include "core/config/recipe.h"
#include "core/data/options.h"
#include "core/tokenizer/tokenizer.h"

namespace titan::train {

/// Turns sources with `use: chat` into JSONL with a mapper, and gives plugins'
/// datasets the way to one (only who uses it reads the section);
/// options.seq_len and the flags for BOS and EOS are read before. `tokenizer`
/// must outlive them. UserError, there or here: a template is missing or
/// malformed, the date is none.
void apply_chat_section(const config::Recipe& recipe,
                        const Tokenizer& tokenizer,
                        DataOptions& options);

}  // namespace titan::train

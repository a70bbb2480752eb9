// SPDX-License-Identifier: BSD-3-Clause
// Text generation with the very code that trains: prefill the prompt, then one
// token at a time against cached keys and values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/generate/sampling.h"
#include "core/parallel/executor.h"
#include "core/tokenizer/tokenizer.h"

namespace titan::generate {

/// Called with each new token; false ends the generation.
using OnToken = std::function<bool(int64_t token)>;

/// Token ids after `prompt` (not empty). Stops at `eos_id` (not included; -1 =
/// none), at max_tokens, or where `on_token` says so. Collective over tp.
std::vector<int64_t> generate(parallel::Executor& executor,
                              const std::vector<int64_t>& prompt,
                              const SamplingOptions& options,
                              int64_t eos_id,
                              const OnToken& on_token = nullptr);

/// Ids of a prompt; an empty one starts from BOS, or from a newline when the
/// tokenizer has none.
std::vector<int64_t> encode_prompt(const Tokenizer& tokenizer,
                                   const std::string& prompt);

/// Prompt and continuation as text.
std::string continue_text(parallel::Executor& executor,
                          const Tokenizer& tokenizer,
                          const std::string& prompt,
                          const SamplingOptions& options);

}  // namespace titan::generate

// SPDX-License-Identifier: BSD-3-Clause
#include "core/generate/generate.h"

#include <ATen/ATen.h>

#include <titan/error.h>

namespace titan::generate {
namespace {

// One document: tokens `first ..` of a request, attending to all before them.
module::BatchTensors batch_of(const std::vector<int64_t>& tokens,
                              int64_t first) {
  const auto count = static_cast<int64_t>(tokens.size()) - first;
  module::BatchTensors batch;
  batch.tokens = at::tensor(tokens).narrow(0, first, count).contiguous();
  batch.labels = at::full({count}, -100, at::kLong);
  batch.loss_weight = at::zeros({count}, at::kFloat);
  batch.doc_id = at::zeros({count}, at::kInt);
  batch.cu_seqlens = at::tensor({int64_t{0}, count}).to(at::kInt);
  batch.positions = at::arange(first, first + count, at::kInt);
  batch.global_index = at::arange(first, first + count, at::kLong);
  return batch;
}

}  // namespace

std::vector<int64_t> generate(parallel::Executor& executor,
                              const std::vector<int64_t>& prompt,
                              const SamplingOptions& options,
                              int64_t eos_id,
                              const OnToken& on_token) {
  check_options(options);
  TITAN_USER_CHECK(!prompt.empty(),
                   "[generate.prompt] expected at least one token, got none");
  module::StateCache cache;
  std::vector<int64_t> tokens = prompt;
  std::vector<int64_t> made;
  int64_t computed = 0;
  while (static_cast<int64_t>(made.size()) < options.max_tokens) {
    const int32_t mode = computed == 0 ? TITAN_MODE_PREFILL : TITAN_MODE_DECODE;
    const at::Tensor logits_V =
        executor.logits(batch_of(tokens, computed), mode, &cache, true)[0];
    computed = static_cast<int64_t>(tokens.size());
    const int64_t token = sample(logits_V, options, computed);
    if (token == eos_id) break;
    tokens.push_back(token);
    made.push_back(token);
    if (on_token && !on_token(token)) break;
  }
  return made;
}

std::vector<int64_t> encode_prompt(const Tokenizer& tokenizer,
                                   const std::string& prompt) {
  const bool has_bos = tokenizer.bos_id().has_value();
  const std::string start = prompt.empty() && !has_bos ? "\n" : prompt;
  const std::vector<int32_t> ids =
      tokenizer.encode(start, has_bos && prompt.empty(), false);
  return {ids.begin(), ids.end()};
}

std::string continue_text(parallel::Executor& executor,
                          const Tokenizer& tokenizer,
                          const std::string& prompt,
                          const SamplingOptions& options) {
  const std::vector<int64_t> made =
      generate(executor,
               encode_prompt(tokenizer, prompt),
               options,
               tokenizer.eos_id() ? *tokenizer.eos_id() : -1);
  return prompt +
         tokenizer.decode(std::vector<int32_t>(made.begin(), made.end()), true);
}

}  // namespace titan::generate

// SPDX-License-Identifier: BSD-3-Clause
// Many documents on many threads, with the result of one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace titan {

class Tokenizer;

struct BatchOptions {
  bool add_bos = false;
  bool add_eos = false;
  int num_threads = 0;  ///< 0: as many as the machine has cores.
};

/// Returns Tokenizer::encode() of each text, in their order. UserError: that of
/// the first text that has one.
std::vector<std::vector<int32_t>> encode_batch(
    const Tokenizer& tokenizer,
    std::span<const std::string_view> texts,
    const BatchOptions& options = {});

}  // namespace titan

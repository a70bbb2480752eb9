// SPDX-License-Identifier: BSD-3-Clause
// What a finished run came to, kept in its folder so that asking again costs no
// forward pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/checkpoint/storage.h"

namespace titan::train {

struct RunResult {
  int64_t step = 0;
  double train_loss = 0;  // of the last step, nats per token
  std::optional<double> validation_loss;
  std::string sample;  // generated text; empty when the recipe asks for none
  int exit_code = 0;   // 0, 130, 143 or 75
  bool was_finished = false;  // before this process: no step ran in it
};

/// `text` with U+FFFD for what is not UTF-8: a sample may end inside a
/// character, and the stored result is to be what the run printed.
std::string valid_utf8(const std::string& text);

/// Atomic.
void write_result(checkpoint::FileSystem& files,
                  const std::filesystem::path& path,
                  const std::string& recipe_json,
                  const RunResult& result);

/// The stored result if it is of this recipe and step; nothing when the file is
/// absent, damaged (the run then computes it again) or of another recipe.
std::optional<RunResult> read_result(const std::filesystem::path& path,
                                     const std::string& recipe_json,
                                     int64_t step);

}  // namespace titan::train

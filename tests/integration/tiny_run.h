// SPDX-License-Identifier: BSD-3-Clause
// A Llama 3 of 40 thousand parameters on a page of text, in a folder of its
// own: the run that the tests of this folder start, stop, damage and resume.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/titan_process.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

namespace titan::integration {

/// Settings "a.b=c" over the tiny recipe.
using Settings = std::vector<std::string>;

class TinyRun {
 public:
  explicit TinyRun(const std::filesystem::path& parent = fast_folder());

  const std::filesystem::path& recipe() const { return recipe_; }
  /// Where files of the test's own may lie.
  const std::filesystem::path& folder() const { return scratch_.path(); }
  /// The run's folder.
  std::filesystem::path run() const { return scratch_.path() / "run"; }
  std::filesystem::path checkpoints() const { return run() / "checkpoint"; }
  std::filesystem::path checkpoint(std::int64_t step) const;

  /// `titan train RECIPE --set ... OPTIONS...`
  std::vector<std::string> words(
      const Settings& settings,
      const std::vector<std::string>& options = {}) const;
  Finished train(const Settings& settings,
                 const std::vector<std::string>& options = {}) const;

  /// Forgets what came after `step`, as if the run had been cut off there:
  /// later checkpoints, the result and what is made of it.
  void cut_after(std::int64_t step) const;

 private:
  TemporaryFolder scratch_;
  std::filesystem::path recipe_;
};

/// Name in the folder to content of every safetensors file of a checkpoint,
/// and the trainer's state (step, data position, schedule) as "trainer".
std::map<std::string, std::string> state_files(
    const std::filesystem::path& checkpoint);

/// Steps of the checkpoints in a folder.
std::vector<std::int64_t> steps_in(const std::filesystem::path& folder);

/// What a run's metrics.jsonl says of each step: the values that do not depend
/// on the clock, as text.
std::map<std::int64_t, std::string> step_losses(
    const std::filesystem::path& run);

/// The tokenizer of the sample text: 2048 ids.
inline const std::string kTokenizer = TITAN_SOURCE_DIR "/assets/tokenizer";

/// Settings of a run with that tokenizer, a validation loss and an export.
const Settings& exporting();

/// "val_loss=X" and what follows in the result's line; empty when there is
/// none.
std::string validation_loss(const Finished& run);

/// The line of `text` that begins with `start`; empty when there is none.
std::string line_with(const std::string& text, std::string_view start);

}  // namespace titan::integration

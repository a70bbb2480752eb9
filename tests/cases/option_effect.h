// SPDX-License-Identifier: BSD-3-Clause
// What a person can see of a run of `titan train`: exit code, output, log,
// files and what is in them, without times and without the recipe's own copy.
#pragma once

#include <string>
#include <vector>

namespace titan::cases {

/// How one key of the recipe is shown to have an effect.
struct OptionEffect {
  std::string key;                          // as config::list_keys names it
  std::vector<std::string> given;           // overrides of both runs
  std::vector<std::string> changed;         // of the second run only
  std::vector<std::string> arguments = {};  // of both, such as --sim-ranks
  std::string recipe_head = {};  // text before the second run's recipe
};

/// One entry for each key of the core schema.
std::vector<OptionEffect> option_effects();

/// Runs the small recipe in a fresh folder; `folder` stands for it in the
/// overrides as $DIR. Two runs of the same give the same text.
std::string visible_facts(const std::vector<std::string>& overrides,
                          const std::vector<std::string>& arguments,
                          const std::string& recipe_head);

}  // namespace titan::cases

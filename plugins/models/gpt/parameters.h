// SPDX-License-Identifier: BSD-3-Clause
// The parameters that options make, by name: what key rules may speak of.
#pragma once

#include <map>
#include <string>

#include "plugins/models/gpt/config.h"

namespace titan::gpt {

struct ParameterShape {
  int64_t rows;
  int num_dims;
};
using Parameters = std::map<std::string, ParameterShape>;

/// Those around the blocks; the head's weight also where it is tied.
Parameters outer_parameters(const GptConfig& c);

/// Those of block `layer` by their names in it, and the bias of experts.
Parameters block_parameters(const GptConfig& c, int64_t layer);

}  // namespace titan::gpt

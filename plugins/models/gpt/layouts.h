// SPDX-License-Identifier: BSD-3-Clause
// A layout is how a family of checkpoints looks outside, as data: which of our
// options it fixes, where config.json has the others, and how its tensors are
// named. layouts.cpp has them; hf.cpp reads and writes by them.
#pragma once

#include <string_view>

#include <titan/json.hpp>

#include "plugins/models/gpt/config.h"

namespace titan::gpt {

/// The name of having none: names and config.json are our own.
inline constexpr std::string_view kOwnLayout = "titan";

/// {"model_type", "architecture",
///  "options": {...}             options that the family fixes
///  "config": {"norm.eps": [key, otherwise, {text of theirs: ours}]}
///                               otherwise: transformers' default for the key
///  "rope": {"theta": otherwise, "fraction": otherwise, "theta_key": beside
///           rope_parameters, "fraction_key": likewise}, or none
///  "aliases": {name: key}       other names of keys; may be absent
///  "heads_divide_dim": true     transformers insists; may be absent
///  "least": {"moe.num_experts": 1}   may be absent
///  "require": {key: value}      of config.json, where it has the key
///  "write": {key: value}        what an export says besides; may be absent
///  "keys": {ours: theirs and how they lie there}, "ignore": [theirs]}
/// UserError when there is no such layout.
Json layout_named(std::string_view name);

/// UserError when options are set that config.json of their layout cannot say.
void check_layout(const GptConfig& config);

}  // namespace titan::gpt

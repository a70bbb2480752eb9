// SPDX-License-Identifier: BSD-3-Clause
// Whole checkpoints between Hugging Face's names and layouts and ours, by the
// model's key rules, one tensor at a time while it is written.
#pragma once

#include <vector>

#include "core/checkpoint/safetensors_writer.h"
#include "core/module/model.h"

namespace titan::train {

using Sources = std::vector<checkpoint::TensorSource>;

/// Each parameter of the model out of Hugging Face's tensors. UserError lists
/// every missing, unexpected and misshapen tensor. `model` is only read here.
Sources native_from_hf(const module::Model& model, const Sources& tensors);

/// Parameters with those of adapters worked into the weights that they adapt.
/// `model` outlives the result.
Sources merge_adapters(const module::Model& model, const Sources& tensors);

/// Hugging Face's tensors out of the parameters, parts of one joined again;
/// as strict. Adapters are merged before.
Sources hf_from_native(const module::Model& model, const Sources& tensors);

}  // namespace titan::train

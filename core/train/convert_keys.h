// SPDX-License-Identifier: BSD-3-Clause
// Whole checkpoints between Hugging Face's names and layouts and ours, by the
// model's key rules, one tensor at a time while it is written.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors_writer.h"
#include "core/module/model.h"

namespace titan::train {

using Sources = std::vector<checkpoint::TensorSource>;

/// FQNs of the model's persistent buffers. Checkpoints of ours hold them beside
/// the parameters; Hugging Face's hold those that a key rule names.
std::set<std::string> persistent_buffers(const module::Model& model);

/// Takes persistent buffers out of `tensors`, whosever names they have: they
/// keep their type when weights are cast. An expert bias moves by thousandths.
Sources take_buffers(const module::Model& model, Sources& tensors);

/// First values of all buffers that a checkpoint of ours holds.
Sources first_buffers(const module::Model& model);

/// Each parameter of the model out of Hugging Face's tensors. UserError lists
/// every missing, unexpected and misshapen tensor. `model` is only read here.
Sources native_from_hf(const module::Model& model, const Sources& tensors);

/// Parameters with those of adapters worked into the weights that they adapt.
/// `model` outlives the result.
Sources merge_adapters(const module::Model& model, const Sources& tensors);

/// Hugging Face's tensors out of the parameters, parts of one joined again;
/// as strict. Adapters are merged before; buffers without a rule are left out.
Sources hf_from_native(const module::Model& model, const Sources& tensors);

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// Adapters of a transform (adapter.use) around training: the transform that a
// recipe names, first values, merged weights, and adapter folders in the layout
// of Hugging Face's PEFT:
//   adapter_config.json         what the transform writes
//   adapter_model.safetensors   base_model.model.<HF module>.lora_A.weight, ...
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/checkpoint/storage.h"
#include "core/module/hf_keys.h"
#include "core/module/transform.h"
#include "core/train/session.h"
#include "core/train/training.h"

namespace titan::train {

/// The component `id` with a config section that need not be complete.
std::unique_ptr<module::Transform> make_transform(PluginHost& host,
                                                  const std::string& id,
                                                  const config::Value& config);

/// Applies what a resolved recipe says under `adapter`, if anything.
void apply_adapter(PluginHost& host,
                   const config::Value& recipe,
                   module::Model& model);

/// First values of the adapters, after the model's own have theirs. Collective
/// over tp and dp_shard.
void initialise_adapters(const module::Model& model,
                         parallel::ParameterEngine& engine,
                         uint64_t seed);
/// Of these, the ones that follow from the model's own values.
void derive_adapters(const module::Model& model,
                     parallel::ParameterEngine& engine);

/// The whole values of the stage's own parameters, adapters worked in.
/// Collective over tp and dp_shard.
std::vector<module::ParameterValue> merged_values(
    const module::Model& model,
    const parallel::ParameterEngine& engine);

/// Rules between the adapters' parameters and PEFT's names. UserError where a
/// layer has no module of its own there.
module::KeyMap adapter_keys(const module::Model& model);

/// Reads a folder that PEFT or save_adapter wrote. UserError when its settings
/// or its tensors are not those of the recipe. Collective.
void load_adapter(const module::Model& model,
                  parallel::ParameterEngine& engine,
                  const std::filesystem::path& folder);

/// Writes an adapter folder (rank 0; collective; one pipeline stage). An
/// existing one is replaced. dtype: of the tensors; none = as they are.
void save_adapter(Training& training,
                  checkpoint::FileSystem& files,
                  const std::filesystem::path& folder,
                  std::optional<at::ScalarType> dtype);

}  // namespace titan::train

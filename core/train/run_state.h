// SPDX-License-Identifier: BSD-3-Clause
// A run's whole state to and from a checkpoint, so that a resumed run is
// bit-identical to an uninterrupted one, under the same or another layout:
// tensors are stored whole, under logical names.
#pragma once

#include <filesystem>
#include <string>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/storage.h"
#include "core/train/training.h"

namespace titan::train {

/// What a checkpoint carries of the run beside its state.
struct RunRecord {
  std::string recipe_json = "{}";   // resolved
  std::string plugins_json = "{}";  // lock
};

/// Saves step `training.steps_done`. Collective over the mesh; the folder
/// appears whole or not at all. Returns the checkpoint's folder.
std::filesystem::path save_run(Training& training,
                               checkpoint::FileSystem& files,
                               const std::filesystem::path& folder,
                               const RunRecord& record);

/// Restores parameters, optimizer states, data position and counters. UserError
/// when the checkpoint is of another model.
void restore_run(Training& training,
                 const checkpoint::CheckpointReader& reader);

/// Parameters only (`--from`, generation): a Titan checkpoint or a Hugging Face
/// folder, told apart by what is in it.
void load_weights(const module::Model& model,
                  parallel::ParameterEngine& engine,
                  const std::filesystem::path& path);

/// Whole parameters under Hugging Face names and layouts. Collective.
std::map<std::string, at::Tensor> hf_tensors(
    const module::Model& model,
    const parallel::ParameterEngine& engine);

/// Writes a Hugging Face folder (rank 0; collective): weights in the parameter
/// dtype, config.json, tokenizer files copied from `tokenizer_folder` unless
/// empty. An existing folder is replaced.
void export_hf(Training& training,
               checkpoint::FileSystem& files,
               const std::filesystem::path& path,
               const std::filesystem::path& tokenizer_folder);

}  // namespace titan::train

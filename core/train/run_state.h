// SPDX-License-Identifier: BSD-3-Clause
// A run's state out of a checkpoint, so that a resumed run is bit-identical to
// an uninterrupted one, under the same or another layout: each rank reads the
// boxes that it holds, whoever wrote them. Saving: run_saver.h.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/storage.h"
#include "core/train/training.h"

namespace titan::train {

/// Restores parameters, optimizer states, data position and counters. UserError
/// when the checkpoint is of another model (every difference is listed) or
/// holds the model only.
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

/// Writes a Hugging Face folder (rank 0; collective): weights in `dtype` (none:
/// the parameters' own), config.json, tokenizer files copied from
/// `tokenizer_folder` unless empty. An existing folder is replaced.
void export_hf(Training& training,
               checkpoint::FileSystem& files,
               const std::filesystem::path& path,
               const std::filesystem::path& tokenizer_folder,
               std::optional<at::ScalarType> dtype = std::nullopt);

}  // namespace titan::train

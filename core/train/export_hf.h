// SPDX-License-Identifier: BSD-3-Clause
// The trained weights as a Hugging Face folder, which other programs load
// offline: weights, configuration, tokenizer.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/checkpoint/export.h"
#include "core/checkpoint/storage.h"
#include "core/train/training.h"

namespace titan::train {

/// Whole parameters under Hugging Face names and layouts, adapters merged.
/// Collective.
std::map<std::string, at::Tensor> hf_tensors(
    const module::Model& model,
    const parallel::ParameterEngine& engine);

/// Adds the tokenizer's files of `folder` (unless empty), the ids at which
/// texts begin and end (null: none) to config.json, where transformers else
/// takes its defaults, and generation_config.json.
void add_tokenizer(checkpoint::HfFolder& content,
                   const std::filesystem::path& folder,
                   const Tokenizer& tokenizer);

/// Writes a Hugging Face folder (rank 0; collective): weights in `dtype` (none:
/// the parameters' own), config.json that says so, and add_tokenizer(). An
/// existing folder is replaced.
void export_hf(Training& training,
               checkpoint::FileSystem& files,
               const std::filesystem::path& path,
               const std::filesystem::path& tokenizer_folder,
               std::optional<at::ScalarType> dtype = std::nullopt);

}  // namespace titan::train

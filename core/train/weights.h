// SPDX-License-Identifier: BSD-3-Clause
// A model's parameters out of whatever form they lie in. Each rank reads the
// boxes that it holds, whoever wrote them. A run's whole state: run_state.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/storage.h"
#include "core/layout/region.h"
#include "core/module/model.h"
#include "core/parallel/engine.h"

namespace titan::train {

struct LoadedWeights {
  bool has_adapters = false;  // those of a transform were in it, too
};

/// Parameters only (`--from`, generation): a Titan checkpoint or the newest
/// good one of a folder of them, a Hugging Face folder, or what `titan convert
/// --to titan-weights` wrote, told apart by what is in it. `files` other than
/// the file system hold Titan checkpoints. UserError lists every tensor that
/// does not fit; unless `is_strict`, a warning does, and what does not fit
/// keeps its value. Where no adapter is in it, those of the model keep their
/// values.
LoadedWeights load_weights(
    const module::Model& model,
    parallel::ParameterEngine& engine,
    const std::filesystem::path& path,
    const checkpoint::FileSystem& files = checkpoint::real_file_system(),
    bool is_strict = true);

/// Parameters, with or without those of adapters, and buffers of an open
/// checkpoint.
void load_model_tensors(const checkpoint::CheckpointReader& reader,
                        const module::ModuleTree& tree,
                        parallel::ParameterEngine& engine,
                        bool has_adapters = true,
                        bool is_strict = true);

/// This rank's part of a stored tensor into a master-shaped one, and no more.
void read_part(const checkpoint::CheckpointReader& reader,
               const std::string& role,
               const std::string& name,
               const std::vector<layout::Region>& regions,
               at::Tensor value);

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// A trained model opened for inference: from a run, a Titan checkpoint (which
// carries its resolved recipe) or a Hugging Face folder. No optimizer, no data,
// one rank.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/dist/mesh.h"
#include "core/module/model.h"
#include "core/parallel/engine.h"
#include "core/parallel/executor.h"
#include "core/parallel/plan.h"
#include "core/tokenizer/tokenizer.h"
#include "core/train/session.h"

namespace titan::train {

struct OpenOptions {
  std::string tokenizer;  // folder or "bytes"; "" = what the folder says
  std::string precision;  // "fp32", "bf16", ...; "" = what the folder says
  plugin::SearchOptions search;
  /// Where `folder` lies, outliving the model; null: the file system.
  const checkpoint::FileSystem* files = nullptr;
};

/// Members in order of dependence: each needs those before it.
struct OpenModel {
  std::unique_ptr<PluginHost> host;
  std::unique_ptr<module::Model> model;
  parallel::Plan plan;
  dist::Mesh mesh = dist::Mesh::single();
  std::unique_ptr<parallel::ParameterEngine> engine;
  std::unique_ptr<parallel::Executor> executor;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string source;  // the folder that the weights came from
};

/// `folder`: a checkpoint, a folder of checkpoints, a run folder (its newest
/// checkpoint), a Hugging Face folder, or what `titan convert --to
/// titan-weights` wrote. UserError when it is none of them.
std::unique_ptr<OpenModel> open_model(const std::filesystem::path& folder,
                                      const OpenOptions& options);

/// The model of a Hugging Face folder, without weights: what config.json
/// describes, or, where the folder has a model.yaml, the section "model" of
/// that recipe.
std::unique_ptr<module::Model> make_model_from_hf(
    PluginHost& host,
    const std::filesystem::path& folder);

/// The model of the run that wrote a checkpoint, without weights.
std::unique_ptr<module::Model> make_model_from_checkpoint(
    PluginHost& host,
    const checkpoint::CheckpointReader& reader);

}  // namespace titan::train

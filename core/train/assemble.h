// SPDX-License-Identifier: BSD-3-Clause
// Recipe -> everything that trains. The only place that says `new` for model,
// plan, engine, optimizer and data.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/config/recipe.h"
#include "core/data/options.h"
#include "core/dist/mesh.h"
#include "core/parallel/plan.h"
#include "core/train/session.h"
#include "core/train/training.h"

namespace titan::train {

/// The mesh that the recipe asks for; `world` ranks exist. UserError when the
/// degrees do not multiply to it, with all numbers.
parallel::MeshShape mesh_shape(const config::Recipe& recipe, int64_t world);
/// Number of ranks that the recipe needs (dp_shard -1 counts as 1).
int64_t world_of(const config::Recipe& recipe);

/// The model alone: structure without tensors.
std::unique_ptr<module::Model> make_model(Session& session);

inline constexpr int64_t kAllMicrobatches = std::numeric_limits<int64_t>::max();

/// Runs the planners of the recipe (or the built-in choice) and validates.
/// At most `microbatches_limit` microbatches: estimates need few.
parallel::Plan make_plan(Session& session,
                         const module::Model& model,
                         const parallel::MeshShape& shape,
                         int64_t microbatches_limit = kAllMicrobatches);

/// Microbatches per data rank and step.
int64_t microbatches_per_step(const config::Recipe& recipe,
                              int64_t data_parallel);

int64_t tokens_per_microbatch(const config::Recipe& recipe);

/// What the recipe says about data, for this rank of the mesh.
DataOptions data_options(const Session& session,
                         const dist::Mesh& mesh,
                         const Tokenizer& tokenizer);

/// Numbers that were clipped are named in `warnings`.
Schedule schedule_of(const config::Recipe& recipe,
                     std::vector<std::string>& warnings);

/// Rows of the head: how many token ids the model knows. UserError for a model
/// without a head over a vocabulary.
int64_t model_vocab(const module::Model& model);

/// Model, plan, engine, executor, optimizer and step options of one rank,
/// parameters undefined.
void assemble_model(Training& training,
                    Session& session,
                    int64_t microbatches_limit);

enum class DataUse { kOpen, kNone };

/// Everything of one rank but the parameters' values, which are unset: draw
/// them (engine->initialise) or load them. Collective over the mesh.
/// `tokenizer` is shared by the ranks of a process; without data (benchmarks
/// bring their own) it may be null.
std::unique_ptr<Training> assemble(Session& session,
                                   dist::Mesh& mesh,
                                   std::shared_ptr<const Tokenizer> tokenizer,
                                   DataUse data_use = DataUse::kOpen);

}  // namespace titan::train

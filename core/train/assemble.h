// SPDX-License-Identifier: BSD-3-Clause
// Recipe -> everything that trains. The only place that says `new` for model,
// plan, engine, optimizer and data.
#pragma once

#include <memory>

#include "core/config/recipe.h"
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

/// Runs the planners of the recipe (or the built-in choice) and validates.
parallel::Plan make_plan(Session& session,
                         const module::Model& model,
                         const parallel::MeshShape& shape);

/// Microbatches per data rank and step.
int64_t microbatches_per_step(const config::Recipe& recipe,
                              int64_t data_parallel);

/// Everything of one rank but the parameters' values, which are unset: draw
/// them (engine->initialise) or load them. Collective over the mesh.
/// `tokenizer` is shared by the ranks of a process.
std::unique_ptr<Training> assemble(Session& session,
                                   dist::Mesh& mesh,
                                   std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace titan::train

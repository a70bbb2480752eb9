// SPDX-License-Identifier: BSD-3-Clause
// A parallel plan: what planner plugins wrote, validated. Symbolic in the rank:
// its size grows with layers and stages, never with ranks. Grammar with an
// example: docs/parallelism.md. Each planner phase owns one top-level key:
// tensor, recompute, pipeline, data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace titan::parallel {

/// Extents of the mesh, outer to inner; world = their product.
struct MeshShape {
  int64_t pp = 1;
  int64_t dp_replicate = 1;
  int64_t dp_shard = 1;
  int64_t cp = 1;
  int64_t tp = 1;
  int64_t ep = 1;  // folded over dp_shard x cp x tp

  int64_t world() const { return pp * dp_replicate * dp_shard * cp * tp; }
  int64_t data_parallel() const { return dp_replicate * dp_shard; }
};

/// tensor.parameters: cut along `dim` over tp.
struct ParameterCut {
  std::string match;  // FQN pattern as op::fqn_matches reads it
  int64_t dim = 0;
};

/// tensor.modules: what happens around a module over tp.
struct ModuleTransition {
  std::string match;
  bool copies_input = false;            // identity; backward sums over tp
  bool reduces_output = false;          // sum over tp; backward identity
  bool is_vocabulary_parallel = false;  // embedding rows or head columns
  bool sums_gradients = false;  // a leaf's whole parameters, used on parts
};

enum class Recompute { kNone, kFull, kSelective };

struct RecomputeRule {
  std::string match;  // item FQN pattern
  Recompute mode = Recompute::kNone;
  std::vector<std::string> save_ops;  // selective: outputs kept
};

enum class Placement {
  kReplicate,  // every data rank holds all (DDP)
  kFlat,       // one flat buffer, equal parts over dp_shard (FSDP, ZeRO-3)
};

struct BucketPlan {
  std::string name;
  std::vector<std::string> items;  // item FQNs, whole items
  Placement placement = Placement::kReplicate;
  bool reshards_after_forward = false;
};

/// One entry of a stage's list: run item range of the stage on a microbatch.
struct Action {
  enum class Kind { kForward, kBackward };
  Kind kind = Kind::kForward;
  int64_t microbatch = 0;
};

struct StagePlan {
  std::vector<std::string> items;  // contiguous, in order
  std::vector<Action> actions;     // complete and deadlock-free (validated)
};

struct Plan {
  MeshShape mesh;
  std::vector<ParameterCut> cuts;
  std::vector<ModuleTransition> transitions;
  std::vector<RecomputeRule> recompute;
  std::vector<BucketPlan> buckets;
  std::vector<StagePlan> stages;
  std::string schedule;  // name of what the actions follow, for people
  std::string json;      // canonical text, for printing, diffs and the lock
};

}  // namespace titan::parallel

// SPDX-License-Identifier: BSD-3-Clause
// What a recipe comes to, found without a parameter being allocated: sizes,
// plan, memory, FLOPs. Every check of the trainer that needs no data is made on
// the way, so a recipe that passes here starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/memory_estimate.h"
#include "core/train/schedule.h"
#include "core/train/session.h"

namespace titan::train {

struct ModuleRow {
  std::string fqn;
  std::string class_name;
  int64_t num_parameters =
      0;                 // in it and below; a tied tensor where it is used
  bool is_item = false;  // the executor's unit: embed, blocks, norm, head
};

struct StageRow {
  std::string first_item, last_item;
  int64_t num_items = 0;
  int64_t num_parameters = 0;  // whole, before tp and dp cut them
  int64_t num_buckets = 0;
  int64_t num_actions = 0;
};

struct RecipeReport {
  std::string name;
  std::string model;
  std::string flavor;  // "" = none
  std::string precision;
  std::string optimizer;
  int64_t num_parameters = 0;  // a tied tensor once
  int64_t vocabulary = 0;
  std::vector<ModuleRow> modules;  // in tree order

  parallel::MeshShape mesh;
  std::vector<StageRow> stages;
  std::string recompute;
  std::string plan_json;

  MemoryEstimate memory;    // of rank 0
  std::string memory_note;  // why there is no estimate; "" = there is one

  double flops_per_token = 0;  // forward and backward
  int64_t seq_len = 0;
  int64_t tokens_per_microbatch = 0;
  int64_t microbatches = 0;  // per data rank and step
  int64_t tokens_per_step = 0;
  int64_t num_steps = 0;
  Schedule schedule;
  double base_lr = 0;
  std::vector<std::string> warnings;
};

/// Resolves everything for `world` ranks. UserError as the trainer gives them.
RecipeReport report_recipe(Session& session, int64_t world);

}  // namespace titan::train

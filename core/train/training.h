// SPDX-License-Identifier: BSD-3-Clause
// Everything that one rank needs to train, assembled (assemble.h) and owned
// here; step, validation, checkpoint and loop are functions over it.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "core/data/stream.h"
#include "core/dist/mesh.h"
#include "core/module/model.h"
#include "core/parallel/engine.h"
#include "core/parallel/executor.h"
#include "core/parallel/plan.h"
#include "core/tokenizer/tokenizer.h"
#include "core/train/ema.h"
#include "core/train/optimizer.h"
#include "core/train/schedule.h"

namespace titan::train {

struct StepOptions {
  int64_t microbatches = 1;  // per data rank
  int64_t seq_len = 0;
  double max_grad_norm = 1.0;  // 0 = off
  bool skips_non_finite = false;
  int64_t zero_target_steps_limit = 20;
};

struct Training {
  explicit Training(dist::Mesh& of) : mesh(of) {}

  dist::Mesh& mesh;
  std::unique_ptr<module::Model> model;
  parallel::Plan plan;
  std::unique_ptr<parallel::ParameterEngine> engine;
  std::unique_ptr<parallel::Executor> executor;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Ema> ema;  // null: no averages
  Schedule schedule;
  StepOptions options;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<DataStream> data;        // after tokenizer: it uses it
  std::unique_ptr<DataStream> validation;  // null: none

  /// Called before anything in here that a save copies changes: parameters,
  /// optimizer states, averages. Set by who copies (run_saver.h).
  std::function<void()> before_update;

  // What a checkpoint carries beside tensors.
  int64_t steps_done = 0;
  int64_t tokens_seen = 0;
  int64_t skipped_steps = 0;
  int64_t steps_without_targets = 0;  // in a row
  // Of the last updating step; NaN before the first.
  double last_loss = std::numeric_limits<double>::quiet_NaN();
};

/// Host microbatch -> tensors (copies).
module::BatchTensors to_tensors(const Microbatch& batch);

}  // namespace titan::train

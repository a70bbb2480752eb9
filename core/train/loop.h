// SPDX-License-Identifier: BSD-3-Clause
// The run around the step: resume, metrics, validation, checkpoints, signals,
// the final line. One call per rank.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/train/result_file.h"
#include "core/train/run_settings.h"
#include "core/train/session.h"
#include "core/train/training.h"

namespace titan::train {

enum class ResumeMode { kAuto, kNever, kRequired };

struct LoopOptions {
  ResumeMode resume = ResumeMode::kAuto;
  std::filesystem::path resume_from;  // a checkpoint or a folder of them
  std::filesystem::path from;         // weights only
  bool prints_json = false;           // one object per logged step on stdout
  bool is_under_launcher = false;
  std::function<void(const std::string&)> print_line;  // results (stdout)
};

/// Trains to training.steps. Collective over the mesh.
RunResult run_training(Session& session,
                       Training& training,
                       const RunSettings& settings,
                       const LoopOptions& options);

}  // namespace titan::train

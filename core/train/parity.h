// SPDX-License-Identifier: BSD-3-Clause
// A model against a reference implementation: logits, loss, every gradient and,
// where the case has them, training steps. Case folders are laid out as
// docs/parity.md says (a Hugging Face checkpoint with what the reference made
// of it); everything runs in float32 on one rank.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/train/session.h"

namespace titan::train {

struct TensorError {
  std::string name;         // "logits", "loss", "grad model.norm.weight", ...
  double max_absolute = 0;  // largest |a - b|
  /// |a - b| / max(|b|, floor) in 2-norms; floor 1e-6 of the global gradient
  /// norm, for logits of their own norm.
  double relative_norm = 0;
  double limit = 0;
  std::string problem;  // "missing in the reference"; empty = compared
  bool passes() const { return problem.empty() && relative_norm <= limit; }
};

struct ParityReport {
  std::string model;  // component id
  int64_t num_parameters = 0;
  std::vector<TensorError> errors;  // worst first
  int64_t training_steps = 0;       // 0 = the case has none
  bool passes() const;
};

struct ParityOptions {
  double relative_tolerance = 1e-4;
  /// Of final weights, relative to the norm of their whole update.
  double update_tolerance = 1e-3;
};

/// UserError when the folder lacks a file or no plugin reads its model_type.
ParityReport run_parity(PluginHost& host,
                        const std::filesystem::path& folder,
                        const ParityOptions& options);

}  // namespace titan::train

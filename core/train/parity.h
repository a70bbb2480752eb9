// SPDX-License-Identifier: BSD-3-Clause
// A model against a reference implementation: logits, loss, every gradient and,
// where the case has them, training steps. Case folders are laid out as
// docs/parity.md says (a Hugging Face checkpoint with what the reference made
// of it); one rank, in float32 and, against what the reference made in
// float64, in float64.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/train/parity_errors.h"
#include "core/train/session.h"

namespace titan::train {

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
  /// Of everything in float64; where it comes from: docs/parity.md.
  double float64_tolerance = 1e-10;
};

/// UserError when the folder lacks a file or no plugin reads its model_type.
ParityReport run_parity(PluginHost& host,
                        const std::filesystem::path& folder,
                        const ParityOptions& options);

}  // namespace titan::train

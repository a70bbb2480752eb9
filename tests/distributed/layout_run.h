// SPDX-License-Identifier: BSD-3-Clause
// Trains a small Llama in float64 under any layout, from a recipe and through
// plugins, and keeps what must not depend on the layout: losses, norms, every
// gradient of every rank, final weights.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/dist/mesh.h"

namespace titan::layout {

using Tensors = std::map<std::string, at::Tensor>;

/// Relative, in float64: any layout makes the same sums in another order.
inline constexpr double kTolerance = 1e-12;

/// 4 layers so that 2 stages have more than one; 4 heads over 2 key heads.
inline constexpr const char* kLlama =
    "{use: titan.llama3, flavor: debugmodel, config: {dim: 64, num_layers: 4, "
    "num_heads: 4, num_kv_heads: 2, hidden_dim: 96, vocab_size: 256}}";

/// A folder with recipe and text that goes away with the object.
class RecipeFolder {
 public:
  explicit RecipeFolder(const std::string& model = kLlama);
  ~RecipeFolder();
  RecipeFolder(const RecipeFolder&) = delete;
  RecipeFolder& operator=(const RecipeFolder&) = delete;

  std::string recipe() const { return (path_ / "recipe.yaml").string(); }
  std::string text_file() const { return (path_ / "text.txt").string(); }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

 private:
  std::filesystem::path path_;
};

struct RunPlan {
  std::vector<std::string> overrides = {};  // --set
  std::vector<dist::Axis> axes = {};        // also set as parallel.*
  int64_t num_steps = 3;
  bool keeps_gradients = true;
  bool resumes = false;  // from the newest checkpoint of the folder
  bool saves = false;    // after the last step
  // After the last step twice; the second time one rank calls after the other.
  bool saves_in_turn = false;
};

struct StepRecord {
  double loss = 0;
  double grad_norm = 0;
  double main_loss = 0;
  std::map<std::string, double> added_losses;
  std::vector<Tensors> gradients;  // per rank, before clipping, whole
};

struct RunRecord {
  std::vector<StepRecord> steps;
  std::string plan_json;
  Tensors buffers;  // after the last step, of all stages
};

RunRecord run(const RecipeFolder& folder, const RunPlan& plan);

/// Largest relative norm error |a - b| / max(|b|, 1e-6 |all b|) over steps,
/// ranks and tensors; every parameter of the reference must be seen on a rank.
/// Fails the test, naming the tensor, when one exceeds `tolerance`.
void check_same(const RunRecord& got,
                const RunRecord& expected,
                double tolerance);

}  // namespace titan::layout

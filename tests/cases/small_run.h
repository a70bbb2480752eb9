// SPDX-License-Identifier: BSD-3-Clause
// A two-layer Llama on documents of unequal length, through the same path as
// `titan train`: recipe, session, assembly, steps.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>  // mkdtemp

#include <titan/error.h>
#include <titan/text.h>

#include "core/dist/mesh.h"
#include "core/tokenizer/tokenizer.h"
#include "core/train/assemble.h"
#include "core/train/step.h"

namespace titan::cases {

/// A folder that goes away with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "titan_cases_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

/// JSONL documents of 1 to 39 bytes: rows hold between none and many ends.
inline std::string make_documents(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::string words;
    for (int j = 0; j < 1 + (i * 17) % 39; ++j)
      words += static_cast<char>('a' + (i * 7 + j * j) % 26);
    lines += text(R"({"text": ")", words, "\"}\n");
  }
  return lines;
}

inline constexpr const char* kSmallRecipe = R"(
model:
  use: titan.llama3
  config: {dim: 32, num_layers: 2, num_heads: 4, num_kv_heads: 2,
           hidden_dim: 48, vocab_size: 260, max_position: 64}
data: {use: jsonl, files: ["${recipe_dir}/documents.jsonl"]}
training: {steps: 3, seq_len: 16, tokens_per_step: 256, max_grad_norm: 1.0}
optimizer:
  use: titan.adamw
  config: {lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0.1}
schedule: {decay: none}
)";

using Overrides = std::vector<std::string>;

struct RunFacts {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<int64_t> targets;
  std::map<std::string, at::Tensor> parameters;  // whole
};

/// Rank 0's view of a run. `look` sees every rank before the first step.
class SmallRun {
 public:
  explicit SmallRun(const Overrides& overrides)
      : session_(write_recipe(folder_), options_of(overrides)),
        tokenizer_(load_tokenizer("bytes")) {
    // As ranks that are threads have it; the model is too small for more.
    at::set_num_threads(1);
  }

  using Look = std::function<void(train::Training&)>;

  RunFacts run(
      const Look& before = [](train::Training&) {},
      const Look& after = [](train::Training&) {}) {
    const int64_t world = train::world_of(session_.recipe());
    const parallel::MeshShape shape =
        train::mesh_shape(session_.recipe(), world);
    RunFacts facts;
    dist::run_local_ranks({{"pp", shape.pp},
                           {"dp_replicate", shape.dp_replicate},
                           {"dp_shard", shape.dp_shard},
                           {"tp", shape.tp}},
                          [&](dist::Mesh& mesh) {
                            RunFacts mine = run_rank(mesh, before, after);
                            if (mesh.rank() == 0) facts = std::move(mine);
                          });
    return facts;
  }

  train::Session& session() { return session_; }

 private:
  static std::string write_recipe(const ScratchFolder& folder) {
    folder.write("documents.jsonl", make_documents(400));
    return folder.write("small.yaml", kSmallRecipe);
  }
  static train::SessionOptions options_of(const Overrides& overrides) {
    train::SessionOptions options;
    options.overrides = overrides;
    return options;
  }
  RunFacts run_rank(dist::Mesh& mesh, const Look& before, const Look& after) {
    const auto training = train::assemble(session_, mesh, tokenizer_);
    training->engine->initialise(
        static_cast<uint64_t>(session_.recipe().integer("training.seed")));
    before(*training);
    RunFacts facts;
    const int64_t steps = session_.recipe().integer("training.steps");
    for (int64_t step = 0; step < steps; ++step) {
      const train::StepReport report = train::train_step(*training, step);
      TITAN_CHECK(report.grad_norm > 0, "[cases] a run must have gradients");
      facts.losses.push_back(report.loss);
      facts.norms.push_back(report.grad_norm);
      facts.targets.push_back(report.num_targets);
    }
    for (const parallel::LocalPart& part : training->engine->parts())
      facts.parameters[part.parameter->fqn] = training->engine->gather(
          part, training->engine->master(part).clone());
    after(*training);
    return facts;
  }

  ScratchFolder folder_;
  train::Session session_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor wide = b.to(at::kDouble);
  return ((a.to(at::kDouble) - wide).norm() / wide.norm()).item<double>();
}

inline bool equal_bits(const RunFacts& a, const RunFacts& b) {
  if (a.losses != b.losses || a.norms != b.norms ||
      a.parameters.size() != b.parameters.size())
    return false;
  for (const auto& [name, value] : a.parameters)
    if (!at::equal(value, b.parameters.at(name))) return false;
  return true;
}

}  // namespace titan::cases

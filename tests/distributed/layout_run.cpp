// SPDX-License-Identifier: BSD-3-Clause
#include "tests/distributed/layout_run.h"

#include <atomic>
#include <cmath>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <catch2/catch.hpp>
#include <unistd.h>  // getpid

#include <titan/text.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/train/assemble.h"
#include "core/train/run_saver.h"
#include "core/train/run_state.h"
#include "core/train/session.h"
#include "core/train/step.h"
#include "core/train/step_loss.h"

namespace titan::layout {
namespace {

// 8 microbatches of one row in a step on one rank.
constexpr const char* kRecipe = R"(
data: {tokenizer: bytes, add_bos: false, add_eos: false}
training: {steps: 6, seq_len: 32, tokens_per_step: 256, seed: 7}
optimizer: {use: titan.adamw, config: {lr: 1e-3}}
schedule: {warmup_steps: 2}
precision: fp64
)";

std::string sample_text() {
  const char* words[] = {"rank", "sum", "the", "axis", "of", "a", "mesh", "in"};
  std::string content;
  uint32_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525u + 1013904223u;
    content += words[state >> 29];
    content += i % 11 == 10 ? ".\n" : " ";
  }
  return content;
}

// The step's gradients, whole, before clipping. The data stands where it stood.
Tensors probe_gradients(train::Training& training) {
  at::NoGradGuard no_grad;
  const std::string data = training.data->state();
  std::vector<module::BatchTensors> microbatches;
  Microbatch host;
  int64_t num_targets = 0;
  for (int64_t i = 0; i < training.options.microbatches; ++i) {
    TITAN_CHECK(training.data->next(host), "data ended inside a step");
    num_targets += host.n_valid;
    microbatches.push_back(train::to_tensors(host));
  }
  train::Counts counts = train::count_batches(microbatches, num_targets);
  train::all_reduce_counts(counts, training.mesh);
  training.executor->train(microbatches, counts);
  training.engine->finish_gradients();
  Tensors whole;
  for (const parallel::LocalPart& part : training.engine->parts())
    whole[part.parameter->fqn] =
        training.engine->gather(part, training.engine->gradient(part)).clone();
  training.engine->clear_gradients();
  training.data->restore(data);
  return whole;
}

void resume(train::Training& training, const std::filesystem::path& folder) {
  auto latest =
      checkpoint::latest_checkpoint(checkpoint::real_file_system(), folder);
  // Not REQUIRE: this runs on rank threads, and Catch2 is not thread-safe.
  TITAN_CHECK(latest.reader.has_value(), "no checkpoint in ", folder.string());
  train::restore_run(training, *latest.reader);
}

// A collective in the second start() would wait for ranks that wait for it.
void save_in_turn(train::Training& training,
                  const std::filesystem::path& folder,
                  std::atomic<int64_t>& turn) {
  train::RunSaveOptions options;
  options.saver.is_async = true;
  train::RunSaver saver(
      training, checkpoint::real_file_system(), folder, {}, options);
  saver.start();
  saver.wait();
  training.mesh.group("world").barrier();
  while (turn != training.mesh.rank()) std::this_thread::yield();
  saver.start();
  ++turn;
  saver.wait();
  training.mesh.group("world").barrier();
}

// What the ranks of one run share.
struct Shared {
  RunRecord record;
  std::mutex mutex;
  std::atomic<int64_t> turn = 0;
};

void run_rank(train::Session& session,
              dist::Mesh& mesh,
              const RecipeFolder& folder,
              const RunPlan& plan,
              Shared& shared) {
  RunRecord& record = shared.record;
  std::mutex& mutex = shared.mutex;
  const auto training = train::assemble(
      session, mesh, std::shared_ptr<const Tokenizer>(load_tokenizer("bytes")));
  if (plan.resumes)
    resume(*training, folder.checkpoints());
  else
    training->engine->initialise(
        static_cast<uint64_t>(session.recipe().integer("training.seed")));
  for (int64_t i = 0; i < plan.num_steps; ++i) {
    Tensors gradients;
    if (plan.keeps_gradients) gradients = probe_gradients(*training);
    const train::StepReport report =
        train::train_step(*training, training->steps_done);
    const std::lock_guard<std::mutex> lock(mutex);
    StepRecord& step = record.steps[static_cast<size_t>(i)];
    step.gradients[static_cast<size_t>(mesh.rank())] = std::move(gradients);
    if (mesh.rank() != 0) continue;
    step.loss = report.loss;
    step.grad_norm = report.grad_norm;
    step.main_loss = report.main_loss;
    step.added_losses = report.added_losses;
    record.plan_json = training->plan.json;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& entry : training->engine->buffers().entries()) {
      const auto [found, is_new] =
          record.buffers.emplace(entry.buffer->fqn, entry.value.clone());
      // Every rank that has it agrees.
      CHECK(found->second.allclose(entry.value, 1e-12, 0));
    }
  }
  if (plan.saves)
    train::save_run(
        *training, checkpoint::real_file_system(), folder.checkpoints(), {});
  if (plan.saves_in_turn)
    save_in_turn(*training, folder.checkpoints(), shared.turn);
}

double norm_of(const at::Tensor& tensor) {
  return tensor.norm().item<double>();
}

double relative_error(double got, double expected) {
  return std::abs(got - expected) / std::abs(expected);
}

}  // namespace

// Several stand beside each other: each has a number.
RecipeFolder::RecipeFolder(const std::string& model) {
  static std::atomic<int> count = 0;
  path_ = std::filesystem::temp_directory_path() /
          text("titan_layout_", getpid(), '_', count++);
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
  std::ofstream(recipe()) << "model: " << model << kRecipe;
  std::ofstream(text_file()) << sample_text();
}

RecipeFolder::~RecipeFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RunRecord run(const RecipeFolder& folder, const RunPlan& plan) {
  train::SessionOptions options;
  options.overrides = plan.overrides;
  options.overrides.push_back(text("data.files=[", folder.text_file(), "]"));
  options.overrides.emplace_back("parallel.dp_shard=1");
  int64_t world = 1;
  for (const dist::Axis& axis : plan.axes) {
    options.overrides.push_back(text("parallel.", axis.name, "=", axis.size));
    world *= axis.size;
  }
  train::Session session(folder.recipe(), options);
  Shared shared;
  shared.record.steps.resize(static_cast<size_t>(plan.num_steps));
  for (StepRecord& step : shared.record.steps)
    step.gradients.resize(static_cast<size_t>(world));
  // One thread, also for the single rank: tests share the machine.
  at::set_num_threads(1);
  dist::run_local_ranks(
      plan.axes,
      [&](dist::Mesh& mesh) { run_rank(session, mesh, folder, plan, shared); },
      std::chrono::minutes(2));
  return std::move(shared.record);
}

void check_same(const RunRecord& got,
                const RunRecord& expected,
                double tolerance) {
  REQUIRE(got.steps.size() == expected.steps.size());
  double worst = 0;
  std::string worst_name;
  for (size_t s = 0; s < got.steps.size(); ++s) {
    CHECK(relative_error(got.steps[s].loss, expected.steps[s].loss) <=
          tolerance);
    CHECK(relative_error(got.steps[s].grad_norm, expected.steps[s].grad_norm) <=
          tolerance);
    const Tensors& reference = expected.steps[s].gradients.front();
    double total = 0;
    for (const auto& [name, tensor] : reference)
      total += std::pow(norm_of(tensor), 2);
    std::set<std::string> seen;
    for (const Tensors& rank : got.steps[s].gradients)
      for (const auto& [name, tensor] : rank) {
        seen.insert(name);
        const at::Tensor& other = reference.at(name);
        REQUIRE(tensor.sizes() == other.sizes());
        const double error = norm_of(tensor - other) /
                             std::max(norm_of(other), 1e-6 * std::sqrt(total));
        if (error <= worst) continue;
        worst = error;
        worst_name = text(name, " of step ", s + 1);
      }
    CHECK(seen.size() == reference.size());
  }
  INFO("worst relative norm error " << worst << ": " << worst_name);
  CHECK(worst <= tolerance);
  WARN("worst relative norm error " << worst << " (tolerance " << tolerance
                                    << "): " << worst_name);
}

}  // namespace titan::layout

// SPDX-License-Identifier: BSD-3-Clause
// `titan train`: a recipe to a trained model.
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <memory>
#include <mutex>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/dispatch/fake_run.h"
#include "core/observe/cores.h"
#include "core/observe/log.h"
#include "core/observe/signals.h"
#include "core/train/assemble.h"
#include "core/train/loop.h"
#include "core/train/memory_estimate.h"

namespace titan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct TrainOptions {
  std::string recipe;
  train::SessionOptions session;
  std::string resume = "auto";
  std::string from;
  int64_t sim_ranks = 0;
  bool is_json = false;
};

// What LibTorch keeps per process.
void set_up_process(const config::Recipe& recipe) {
  const int64_t threads = recipe.integer("training.threads");
  at::set_num_threads(static_cast<int>(
      threads > 0 ? threads : read_core_facts().num_compute_threads()));
  at::globalContext().setDeterministicAlgorithms(
      recipe.boolean("training.deterministic"), /*warn_only=*/false);
  // Filling every new tensor would cost time and change no result.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

train::LoopOptions loop_options(const TrainOptions& options) {
  train::LoopOptions loop;
  if (options.resume == "never") {
    loop.resume = train::ResumeMode::kNever;
  } else if (options.resume != "auto") {
    loop.resume = train::ResumeMode::kRequired;
    if (options.resume != "required") loop.resume_from = options.resume;
  }
  if (!options.from.empty()) {
    TITAN_USER_CHECK(loop.resume != train::ResumeMode::kRequired,
                     "[--from] expected it without --resume, got both: one "
                     "continues a run, the other starts a new one");
    loop.from = options.from;
    loop.resume = train::ResumeMode::kNever;
  }
  loop.prints_json = options.is_json;
  loop.is_under_launcher = std::getenv("TORCHELASTIC_RUN_ID") != nullptr ||
                           std::getenv("SLURM_JOB_ID") != nullptr;
  loop.print_line = [](const std::string& line) {
    std::cout << line << std::endl;
  };
  return loop;
}

// Ranks are threads here, so all of them share the machine's memory.
void log_memory_estimate(train::Session& session,
                         const parallel::MeshShape& shape) {
  try {
    const train::MemoryEstimate estimate =
        train::estimate_memory(session, shape);
    const MemoryFacts machine = read_memory_facts();
    log::info(text("memory estimate: ",
                   train::describe(estimate, machine, shape.world())));
    if (!train::fits(estimate, machine, shape.world()))
      log::warn(
          "the step needs more memory than is available: expect the kernel to "
          "end the run. Lower training.tokens_per_microbatch or set "
          "recompute.mode=full.");
  } catch (const dispatch::NoFakeResult& error) {
    log::warn(text("memory estimate: none, ", error.what()));
  }
}

// What --json prints for a run that had finished before: no step, so the
// result.
void print_result_json(const train::RunResult& result) {
  const auto number = [](double value) {  // JSON has no NaN
    return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
  };
  OrderedJson line = {{"step", result.step},
                      {"final", true},
                      {"loss", number(result.train_loss)},
                      {"train_loss", number(result.train_loss)}};
  if (result.validation_loss)
    line["val_loss"] = number(*result.validation_loss);
  if (!result.sample.empty()) line["sample"] = result.sample;
  std::cout << line << std::endl;
}

void print_result(const train::RunResult& result) {
  if (!result.sample.empty())
    std::cout << "--- sample\n" << result.sample << "\n---\n";
  std::cout << std::fixed << std::setprecision(4)
            << "final: step=" << result.step
            << " train_loss=" << result.train_loss;
  if (result.validation_loss)
    std::cout << " val_loss=" << *result.validation_loss;
  std::cout << std::endl;
}

int run_train(const TrainOptions& options) {
  install_signal_handlers();
  train::Session session(options.recipe, options.session);
  const config::Recipe& recipe = session.recipe();
  set_up_process(recipe);
  const train::RunSettings settings = train::read_run_settings(recipe);
  if (!settings.description.empty())
    log::info(text(settings.name, ": ", settings.description));
  const auto tokenizer =
      std::shared_ptr<const Tokenizer>(load_tokenizer(settings.tokenizer));
  const train::LoopOptions loop = loop_options(options);
  train::RunResult result;
  const auto run_rank = [&](dist::Mesh& mesh) {
    const auto training = train::assemble(session, mesh, tokenizer);
    if (mesh.rank() == 0) recipe.require_all_used();
    const train::RunResult mine =
        train::run_training(session, *training, settings, loop);
    if (mesh.rank() == 0) result = mine;
  };
  const int64_t world =
      options.sim_ranks > 0 ? options.sim_ranks : train::world_of(recipe);
  const parallel::MeshShape shape = train::mesh_shape(recipe, world);
  log_memory_estimate(session, shape);
  if (world == 1) {
    dist::Mesh mesh = dist::Mesh::single();
    run_rank(mesh);
  } else {
    TITAN_USER_CHECK(options.sim_ranks > 0,
                     "[parallel] ranks: expected 1, or "
                     "--sim-ranks ",
                     world,
                     " (threads of this process), got ",
                     world);
    dist::run_local_ranks({{"pp", shape.pp},
                           {"dp_replicate", shape.dp_replicate},
                           {"dp_shard", shape.dp_shard},
                           {"cp", shape.cp},
                           {"tp", shape.tp}},
                          run_rank);
  }
  if (result.exit_code == 0 && !options.is_json) print_result(result);
  if (result.exit_code == 0 && options.is_json && result.was_finished)
    print_result_json(result);
  return result.exit_code;
}

}  // namespace

void add_train_command(Command& app, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  Command* command = app.add_subcommand("train", "Train a recipe");
  command->footer(
      "Example: titan train configs/llama3_debug_tinyshakespeare.yaml "
      "--set training.steps=100");
  command->add_option("RECIPE", options->recipe, "YAML file")->required();
  add_session_options(*command, options->session);
  command
      ->add_option("--resume",
                   options->resume,
                   "auto (default): continue if there is a checkpoint; never; "
                   "required (also without a value); or a folder")
      ->expected(0, 1)
      ->type_name("auto|never|DIR");
  command
      ->add_option("--from",
                   options->from,
                   "start from these weights: a Titan checkpoint (here or in "
                   "the recipe's checkpoint.storage), a Hugging Face folder "
                   "or titan-weights")
      ->type_name("DIR");
  command
      ->add_option("--sim-ranks",
                   options->sim_ranks,
                   "run this many ranks as threads of one process")
      ->between(1, 1024);
  command->add_flag(
      "--json", options->is_json, "one JSON object per logged step on stdout");
  command->callback([options, command, &exit_code] {
    if (command->count("--resume") > 0 && options->resume.empty())
      options->resume = "required";
    exit_code = run_train(*options);
  });
}

}  // namespace titan::cli

// SPDX-License-Identifier: BSD-3-Clause
// `titan bench train`: a recipe's steps, timed, under the keys that the scripts
// of other trainers print.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "core/cli/commands.h"
#include "core/cli/libtorch_facts.h"
#include "core/cli/session_options.h"
#include "core/observe/cores.h"
#include "core/train/benchmark.h"

namespace titan::cli {
namespace {

struct BenchOptions {
  std::string recipe;
  train::SessionOptions session;
  train::BenchmarkOptions benchmark;
  std::string init;
  std::string tokens;
  int threads = 0;
  bool is_json = false;
};

// The peers' scripts round alike.
double rounded(double value, int digits) {
  const double unit = std::pow(10.0, digits);
  return std::round(value * unit) / unit;
}

void print_json(const train::BenchmarkResult& result,
                const std::string& precision) {
  nlohmann::ordered_json out = {
      {"peer", "titan"},
      {"torch", libtorch_version()},
      {"dtype", precision},
      {"threads", at::get_num_threads()},
      {"params", result.num_parameters},
      {"ms_step_median", rounded(result.ms_median(), 1)},
      {"ms_step_min", rounded(result.ms_min(), 1)},
      {"ms_steps", nlohmann::ordered_json::array()},
      {"tokens_s", rounded(result.tokens_per_second(), 1)},
      {"peak_rss_mb", rounded(result.peak_rss_mb, 1)},
      {"startup_s", rounded(result.startup_s, 2)},
      {"first_step_s", rounded(result.first_step_s, 3)},
      {"losses", nlohmann::ordered_json::array()}};
  for (double ms : result.ms_steps) out["ms_steps"].push_back(rounded(ms, 1));
  for (double loss : result.losses) out["losses"].push_back(rounded(loss, 6));
  std::cout << out.dump() << '\n';
}

void print_text(const train::BenchmarkResult& result) {
  std::printf(
      "step       %.1f ms median, %.1f ms min of %zu\n"
      "tokens/s   %.1f\n"
      "peak RSS   %.1f MiB\n"
      "start-up   %.2f s to the end of the first step (%.3f s of it the step)\n"
      "loss       %.6f -> %.6f\n",
      result.ms_median(),
      result.ms_min(),
      result.ms_steps.size(),
      result.tokens_per_second(),
      result.peak_rss_mb,
      result.startup_s,
      result.first_step_s,
      result.losses.front(),
      result.losses.back());
  std::fflush(stdout);
}

void run_bench(BenchOptions& options) {
  at::set_num_threads(options.threads > 0
                          ? options.threads
                          : read_core_facts().num_compute_threads());
  options.benchmark.init = options.init;
  options.benchmark.tokens = options.tokens;
  train::Session session(options.recipe, options.session);
  const train::BenchmarkResult result =
      train::benchmark_training(session, options.benchmark);
  if (options.is_json) {
    print_json(result, session.recipe().string("precision.use"));
  } else {
    print_text(result);
  }
}

void add_train_bench(Command& app, int& exit_code) {
  auto options = std::make_shared<BenchOptions>();
  Command* command = app.add_subcommand("train", "Time the steps of a recipe");
  command->footer(
      "Example: titan bench train configs/bench_llama3_debug.yaml --steps 8 "
      "--threads 2 --json");
  command->add_option("RECIPE", options->recipe, "YAML file")->required();
  command->add_option("--steps", options->benchmark.steps, "timed steps")
      ->positive()
      ->capture_default_str();
  command
      ->add_option("--warmup", options->benchmark.warmup, "steps before them")
      ->non_negative()
      ->capture_default_str();
  command
      ->add_option("--threads", options->threads, "CPU threads; 0: all cores")
      ->non_negative()
      ->capture_default_str();
  command
      ->add_option("--init",
                   options->init,
                   "weights under TorchTitan's names (safetensors); "
                   "default: checkpoint.initial, else the seed's")
      ->type_name("FILE");
  command
      ->add_option("--tokens",
                   options->tokens,
                   "batches, int32 [steps, sequences, seq_len + 1] (.npy); "
                   "default: the recipe's data")
      ->type_name("FILE");
  add_session_options(*command, options->session);
  command->add_flag("--json", options->is_json, "one JSON object on stdout");
  command->callback([options, &exit_code] {
    run_bench(*options);
    exit_code = 0;
  });
}

}  // namespace

void add_bench_command(Command& app, int& exit_code) {
  Command* command =
      app.add_subcommand("bench", "Measure what this machine does");
  command->require_subcommand();
  command->footer(
      "Example: titan bench train configs/bench_llama3_debug.yaml --json");
  add_train_bench(*command, exit_code);
}

}  // namespace titan::cli

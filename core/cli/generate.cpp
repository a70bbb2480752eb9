// SPDX-License-Identifier: BSD-3-Clause
// `titan generate`: text from a trained model, shown while it is made.
#include "core/generate/generate.h"

#include <chrono>
#include <iostream>
#include <memory>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/checkpoint_place.h"
#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/generate/text_stream.h"
#include "core/observe/cores.h"
#include "core/train/open_model.h"

namespace titan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct GenerateOptions {
  std::string folder;
  std::string recipe;
  std::string prompt;
  std::string tokenizer;
  std::string precision;
  generate::SamplingOptions sampling;
  train::SessionOptions session;
  int64_t threads = 0;
  bool is_greedy = false;
  bool ignores_eos = false;
  bool is_json = false;
};

struct Outcome {
  std::vector<int64_t> prompt_ids;
  std::vector<int64_t> ids;
  std::string text;
  bool is_at_eos = false;
  double seconds = 0;
};

Outcome run_model(const GenerateOptions& options, train::OpenModel& model) {
  const auto start = std::chrono::steady_clock::now();
  const Tokenizer& tokenizer = *model.tokenizer;
  Outcome outcome;
  outcome.prompt_ids = generate::encode_prompt(tokenizer, options.prompt);
  generate::TextStream stream(tokenizer);
  const auto show = [&](const std::string& piece) {
    outcome.text += piece;
    if (!options.is_json) std::cout << piece << std::flush;
  };
  if (!options.is_json) std::cout << options.prompt << std::flush;
  const auto eos = options.ignores_eos ? std::nullopt : tokenizer.eos_id();
  outcome.ids = generate::generate(*model.executor,
                                   outcome.prompt_ids,
                                   options.sampling,
                                   eos ? *eos : -1,
                                   [&](int64_t token) {
                                     show(stream.push(token));
                                     return true;
                                   });
  show(stream.finish());
  outcome.is_at_eos =
      static_cast<int64_t>(outcome.ids.size()) < options.sampling.max_tokens;
  outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return outcome;
}

void run_generate(GenerateOptions& options) {
  if (options.is_greedy) options.sampling.temperature = 0;
  generate::check_options(options.sampling);
  train::OpenOptions open;
  open.tokenizer = options.tokenizer;
  open.precision = options.precision;
  open.search.files = options.session.plugin_files;
  open.search.folders = options.session.plugin_folders;
  at::set_num_threads(static_cast<int>(
      options.threads > 0 ? options.threads
                          : read_core_facts().num_compute_threads()));
  // Outlives the model: its weights may be read from the place's storage.
  const CheckpointPlace place =
      open_place(options.folder, options.recipe, options.session);
  open.files = &place.files();
  const auto model = train::open_model(place.folder, open);
  const Outcome outcome = run_model(options, *model);
  if (!options.is_json) {
    std::cout << std::endl;
    return;
  }
  const OrderedJson out = {
      {"model", model->model->id()},
      {"source", model->source},
      {"prompt", options.prompt},
      {"text", outcome.text},
      {"prompt_tokens", outcome.prompt_ids.size()},
      {"tokens", outcome.ids},
      {"stopped_by", outcome.is_at_eos ? "eos" : "max_tokens"},
      {"seconds", outcome.seconds},
      {"tokens_s", static_cast<double>(outcome.ids.size()) / outcome.seconds}};
  std::cout << out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
            << '\n';
}

void add_sampling_options(Command& command,
                          const std::shared_ptr<GenerateOptions>& options) {
  generate::SamplingOptions& sampling = options->sampling;
  command
      .add_option("--max-tokens", sampling.max_tokens, "tokens to make at most")
      ->capture_default_str();
  command
      .add_option(
          "--temperature", sampling.temperature, "0: always the likeliest")
      ->capture_default_str();
  command
      .add_option("--top-k", sampling.top_k, "of the K likeliest; 0: of all")
      ->capture_default_str();
  command
      .add_option("--top-p",
                  sampling.top_p,
                  "of the likeliest that together have this probability")
      ->capture_default_str();
  command.add_option("--seed", sampling.seed, "decides every draw")
      ->capture_default_str();
  command.add_flag("--greedy", options->is_greedy, "same as --temperature 0");
  command.add_flag(
      "--ignore-eos", options->ignores_eos, "go on after the end of text");
}

}  // namespace

void add_generate_command(Command& app, int& exit_code) {
  auto options = std::make_shared<GenerateOptions>();
  Command* command =
      app.add_subcommand("generate", "Continue a text with a trained model");
  command->footer(
      "Example: titan generate runs/llama3_debug_tinyshakespeare "
      "--prompt \"ROMEO:\" --max-tokens 100 --temperature 0.8");
  command->add_option(
      "DIR", options->folder, "a run, a checkpoint, or a Hugging Face folder");
  command
      ->add_option(
          "--recipe",
          options->recipe,
          "the run of this recipe; with DIR: where its checkpoints lie")
      ->type_name("RECIPE");
  command->add_option("--prompt", options->prompt, "text to continue");
  add_sampling_options(*command, options);
  command
      ->add_option("--tokenizer",
                   options->tokenizer,
                   "folder with tokenizer.json, or bytes; default: the model's")
      ->type_name("DIR");
  command
      ->add_option("--precision",
                   options->precision,
                   "default: as trained; fp32 for a Hugging Face folder")
      ->type_name("fp32|bf16|fp64");
  command
      ->add_option("--threads", options->threads, "CPU threads; 0: all cores")
      ->capture_default_str();
  add_session_options(*command, options->session);
  command->add_flag("--json", options->is_json, "one JSON object on stdout");
  command->callback([options, &exit_code] {
    run_generate(*options);
    exit_code = 0;
  });
}

}  // namespace titan::cli

// SPDX-License-Identifier: BSD-3-Clause
// `titan data inspect|prepare`: what a recipe trains on, row by row; and
// tokenising files once for many runs.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/config/document.h"
#include "core/config/value.h"
#include "core/data/prepare.h"
#include "core/data/stream.h"
#include "core/dist/mesh.h"
#include "core/observe/log.h"
#include "core/plugin/plugin_dataset.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"
#include "core/train/assemble.h"

namespace titan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct DataInspectOptions {
  std::string recipe;
  train::SessionOptions session;
  int64_t num_rows = 4;
  bool of_validation = false;
  bool is_json = false;
};

struct PrepareCommand {
  PrepareOptions options;
  train::SessionOptions session;
  std::string config = "{}";
  std::string tokenizer = "bytes";
  std::string on_bad_line = "error";
  bool add_bos = false;
  bool leaves_eos_out = false;
  bool is_json = false;
};

// A run of tokens of one document, all with a target or all without.
struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t document = 0;
  bool is_trained = false;
};

std::vector<Stretch> stretches_of(const Microbatch& batch) {
  std::vector<Stretch> found;
  for (size_t t = 0; t < batch.tokens.size(); ++t) {
    const bool is_trained = batch.loss_weight[t] > 0;
    const auto at = static_cast<int64_t>(t);
    if (found.empty() || found.back().document != batch.doc_id[t] ||
        found.back().is_trained != is_trained)
      found.push_back({at, at, batch.doc_id[t], is_trained});
    ++found.back().end;
  }
  return found;
}

std::string decode(const Microbatch& batch,
                   const Stretch& stretch,
                   const Tokenizer& tokenizer) {
  const std::vector<int32_t> ids(batch.tokens.begin() + stretch.begin,
                                 batch.tokens.begin() + stretch.end);
  return to_valid_utf8(tokenizer.decode(ids));
}

OrderedJson row_json(const Microbatch& batch, const Tokenizer& tokenizer) {
  OrderedJson stretches = OrderedJson::array();
  for (const Stretch& stretch : stretches_of(batch))
    stretches.push_back({{"begin", stretch.begin},
                         {"end", stretch.end},
                         {"doc_id", stretch.document},
                         {"has_targets", stretch.is_trained},
                         {"text", decode(batch, stretch, tokenizer)}});
  return {{"tokens", batch.tokens},
          {"labels", batch.labels},
          {"loss_weight", batch.loss_weight},
          {"positions", batch.positions},
          {"doc_id", batch.doc_id},
          {"cu_seqlens", batch.cu_seqlens},
          {"num_targets", batch.n_valid},
          {"stretches", std::move(stretches)}};
}

// Places and positions of each stretch, "+" where tokens have targets, "-"
// where not, and the text as a JSON string, so that white space shows.
void print_row(int64_t row,
               const Microbatch& batch,
               const Tokenizer& tokenizer) {
  std::cout << "row " << row << ": " << batch.tokens.size() << " tokens, "
            << batch.n_valid << " targets, " << batch.cu_seqlens.size() - 1
            << " documents\n";
  int32_t last_document = -1;
  for (const Stretch& stretch : stretches_of(batch)) {
    const auto first = static_cast<size_t>(stretch.begin);
    if (stretch.document != last_document)
      std::cout << "  document " << stretch.document << '\n';
    last_document = stretch.document;
    std::cout << "    " << (stretch.is_trained ? '+' : '-') << " places "
              << stretch.begin << ".." << stretch.end - 1 << ", positions "
              << batch.positions[first] << ".."
              << batch.positions[static_cast<size_t>(stretch.end) - 1] << ": "
              << OrderedJson(decode(batch, stretch, tokenizer)).dump() << '\n';
  }
}

void run_data_inspect(const DataInspectOptions& options) {
  train::Session session(options.recipe, options.session);
  const config::Recipe& recipe = session.recipe();
  const auto tokenizer = load_tokenizer(recipe.string("data.tokenizer"));
  dist::Mesh mesh = dist::Mesh::single();
  // One row a batch, whatever the ranks: rows do not depend on them.
  DataOptions data = train::data_options(session, mesh, *tokenizer);
  data.tokens_per_microbatch = data.seq_len;
  data.tokens_per_step = 0;
  if (options.of_validation) data.split = Split::kValidation;
  DataStream stream(data, *tokenizer);
  if (!options.is_json) std::cout << stream.describe() << '\n';
  OrderedJson rows = OrderedJson::array();
  Microbatch batch;
  for (int64_t row = 0; row < options.num_rows && !stream.has_ended(); ++row) {
    if (!stream.next(batch)) break;
    if (options.is_json)
      rows.push_back(row_json(batch, *tokenizer));
    else
      print_row(row, batch, *tokenizer);
  }
  if (options.is_json) std::cout << OrderedJson{{"rows", rows}}.dump() << '\n';
  for (const std::string& bad : stream.counts().first_bad_records)
    log::warn(bad);
}

void show_progress(const PrepareProgress& now) {
  log::progress(text("prepared ",
                     now.units_done,
                     " of ",
                     now.num_units,
                     " parts, ",
                     now.num_tokens,
                     " tokens, ",
                     now.num_files,
                     " files"));
}

// The plugin that --use names, if it names one, with the keys of --config.
std::unique_ptr<train::PluginHost> open_plugin(PrepareCommand& command) {
  const std::string& use = command.options.use;
  if (use == "text" || use == "jsonl") {
    TITAN_USER_CHECK(command.config == "{}",
                     "[--config] expected a plugin's dataset in --use, got ",
                     use);
    TITAN_USER_CHECK(command.session.plugin_files.empty() &&
                         command.session.plugin_folders.empty(),
                     "[--plugin] expected a plugin's dataset in --use, got ",
                     use);
    return nullptr;
  }
  plugin::SearchOptions search;
  search.files = command.session.plugin_files;
  search.folders = command.session.plugin_folders;
  auto host = std::make_unique<train::PluginHost>(search);
  const plugin::Component& component =
      host->plugins.require(plugin::kDatasetKind, use);
  command.options.opener = std::make_shared<plugin::PluginDatasetOpener>(
      component,
      train::complete_config(component,
                             config::parse_yaml(command.config, "--config")),
      "--config");
  return host;
}

void run_prepare(PrepareCommand& command) {
  const std::unique_ptr<train::PluginHost> host = open_plugin(command);
  const auto tokenizer = load_tokenizer(command.tokenizer);
  const bool add_eos =
      tokenizer->eos_id().has_value() && !command.leaves_eos_out;
  const auto mapper = make_text_mapper(*tokenizer, command.add_bos, add_eos);
  ReadReport report(parse_on_bad_record(command.on_bad_line));
  const PrepareProgress whole = prepare_tokens(command.options,
                                               *mapper,
                                               tokenizer->vocab_size(),
                                               report,
                                               checkpoint::real_file_system(),
                                               show_progress);
  log::progress("");
  const ReadCounts counts = report.counts();
  for (const std::string& bad : counts.first_bad_records) log::warn(bad);
  const OrderedJson facts = {{"folder", command.options.folder},
                             {"files", whole.num_files},
                             {"tokens", whole.num_tokens},
                             {"documents", whole.num_documents},
                             {"bad_records", counts.num_bad_records}};
  if (command.is_json) {
    std::cout << facts.dump() << '\n';
    return;
  }
  std::cout << command.options.folder << ": " << whole.num_tokens
            << " tokens of " << whole.num_documents << " documents in "
            << whole.num_files << " files";
  if (counts.num_bad_records > 0)
    std::cout << ", " << counts.num_bad_records << " bad records left out";
  std::cout << "\nin a recipe: data: {use: tokens, files: ["
            << command.options.folder << "], tokenizer: " << command.tokenizer
            << "}\n";
}

void add_inspect(Command& data, int& exit_code) {
  auto options = std::make_shared<DataInspectOptions>();
  Command* command = data.add_subcommand(
      "inspect", "Print the rows that a recipe trains on, decoded");
  command->add_option("recipe", options->recipe, "The recipe")->required();
  add_session_options(*command, options->session);
  command->add_option("--rows", options->num_rows, "How many rows")->positive();
  command->add_flag("--validation",
                    options->of_validation,
                    "Of the validation split instead of training");
  command->add_flag("--json", options->is_json, "One JSON object");
  command->footer(
      "Example: titan data inspect recipe.yaml --rows 2\n"
      "+ marks tokens that have a target, - those that have none.");
  command->callback([options, &exit_code] {
    run_data_inspect(*options);
    exit_code = 0;
  });
}

void add_prepare(Command& data, int& exit_code) {
  auto prepare = std::make_shared<PrepareCommand>();
  Command* command = data.add_subcommand(
      "prepare", "Tokenise files once, for recipes with data.use: tokens");
  command
      ->add_option("files", prepare->options.files, "Files, folders, patterns")
      ->required();
  command->add_option("--out", prepare->options.folder, "Folder to write")
      ->required();
  command->add_option("--tokenizer",
                      prepare->tokenizer,
                      "Folder with tokenizer.json, or bytes");
  command->add_option("--use",
                      prepare->options.use,
                      "text, jsonl, or the id of a plugin's dataset");
  command->add_option("--field", prepare->options.field, "JSONL: the text");
  command->add_option("--config",
                      prepare->config,
                      "Keys of the plugin's dataset, such as {text: body}");
  add_plugin_options(*command, prepare->session);
  command->add_option("--on-bad-line", prepare->on_bad_line, "error or skip");
  command
      ->add_option("--tokens-per-file",
                   prepare->options.tokens_per_file,
                   "Begin another file behind so many")
      ->positive();
  command->add_flag("--add-bos", prepare->add_bos, "BOS before each document");
  command->add_flag(
      "--no-eos", prepare->leaves_eos_out, "No EOS behind each document");
  command->add_flag("--json", prepare->is_json, "One JSON object");
  command->footer(
      "Example: titan data prepare texts/ --tokenizer tok/ --out prepared/\n"
      "Started again with the same arguments it continues where it was "
      "stopped.");
  command->callback([prepare, &exit_code] {
    run_prepare(*prepare);
    exit_code = 0;
  });
}

}  // namespace

void add_data_command(Command& app, int& exit_code) {
  Command* data = app.add_subcommand("data", "Look at data and prepare it");
  data->require_subcommand();
  add_inspect(*data, exit_code);
  add_prepare(*data, exit_code);
}

}  // namespace titan::cli

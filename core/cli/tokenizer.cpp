// SPDX-License-Identifier: BSD-3-Clause
// `titan tokenizer encode|decode|check`: text to ids, ids to text, and recorded
// cases against a tokenizer. `render` has its own file.
#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/commands.h"
#include "core/cli/run_titan.h"
#include "core/tokenizer/check.h"
#include "core/tokenizer/utf8.h"

namespace titan::cli {
namespace {

using Json = nlohmann::json;

// More would scroll the first, which says most, off the screen.
constexpr size_t kMaxDifferencesShown = 20;
struct TokenizerOptions {
  std::string tokenizer;
  std::optional<std::string> text;
  std::string file;
  std::vector<int32_t> ids;
  bool add_bos = false;
  bool add_eos = false;
  bool skip_special = false;
  bool is_json = false;
};

std::string read_stream(std::istream& stream) {
  return std::string((std::istreambuf_iterator<char>(stream)), {});
}

std::string text_to_encode(const TokenizerOptions& options) {
  TITAN_USER_CHECK(options.text.has_value() == options.file.empty(),
                   "[tokenizer encode] expected either a text or --file, got ",
                   options.text ? "both" : "neither");
  if (options.text) return *options.text;
  if (options.file == "-") return read_stream(std::cin);
  std::ifstream file(options.file, std::ios::binary);
  TITAN_USER_CHECK(
      file, "[tokenizer encode] file cannot be read: ", options.file);
  return read_stream(file);
}

void run_encode(const TokenizerOptions& options) {
  const auto ids =
      load_tokenizer(options.tokenizer)
          ->encode(text_to_encode(options), options.add_bos, options.add_eos);
  if (options.is_json) {
    std::cout << Json{{"num_tokens", ids.size()}, {"ids", ids}} << '\n';
    return;
  }
  for (size_t i = 0; i < ids.size(); ++i) std::cout << (i ? " " : "") << ids[i];
  std::cout << '\n';
}

void run_decode(const TokenizerOptions& options) {
  const std::string bytes = load_tokenizer(options.tokenizer)
                                ->decode(options.ids, options.skip_special);
  if (options.is_json)
    std::cout << Json{{"text", to_valid_utf8(bytes)}} << '\n';
  else
    std::cout << bytes << '\n';
}

int run_check(const TokenizerOptions& options) {
  const TokenizerCheck check = check_tokenizer(options.tokenizer);
  const size_t num_differences = check.differences.size();
  if (options.is_json) {
    std::cout << Json{{"num_cases", check.num_cases},
                      {"differences", check.differences}}
              << '\n';
  } else {
    for (size_t i = 0; i < std::min(num_differences, kMaxDifferencesShown); ++i)
      std::cout << check.differences[i] << '\n';
    std::cout << text(
        check.num_cases, " cases, ", num_differences, " differences\n");
  }
  return num_differences == 0 ? 0 : kExitDifferent;
}

Command* add_subcommand(Command& parent,
                        const std::string& name,
                        const std::string& summary,
                        TokenizerOptions& options) {
  Command* command = parent.add_subcommand(name, summary);
  command
      ->add_option("tokenizer",
                   options.tokenizer,
                   "Folder with tokenizer.json or tokenizer.model, a file "
                   "(also FILE.tiktoken#llama3), or \"bytes\"")
      ->required();
  command->add_flag("--json", options.is_json, "Print one JSON object");
  return command;
}

}  // namespace

void add_tokenizer_command(Command& app, int& exit_code) {
  Command* command = app.add_subcommand(
      "tokenizer", "Encodes text, decodes ids, checks a tokenizer");
  command->require_subcommand();
  command->footer(
      "Examples:\n"
      "  titan tokenizer encode assets/tokenizer 'To be' --json\n"
      "  titan tokenizer encode path/to/tokenizer.model --file book.txt\n"
      "  titan tokenizer encode o200k_base.tiktoken#o200k 'To be'\n"
      "  titan tokenizer check path/to/tokenizer --json");
  const auto options = std::make_shared<TokenizerOptions>();

  Command* encode =
      add_subcommand(*command, "encode", "Prints the ids of a text", *options);
  encode->add_option("text", options->text, "The text");
  encode->add_option(
      "--file", options->file, "Read the text from a file (-: stdin)");
  encode->add_flag("--bos", options->add_bos, "Begin with the BOS token");
  encode->add_flag("--eos", options->add_eos, "End with the EOS token");
  encode->footer(
      "Example: titan tokenizer encode assets/tokenizer 'To be' --bos");
  encode->callback([options, &exit_code] {
    run_encode(*options);
    exit_code = 0;
  });

  Command* decode =
      add_subcommand(*command, "decode", "Prints the text of ids", *options);
  decode->add_option("ids", options->ids, "Token ids")->required();
  decode->add_flag(
      "--skip-special", options->skip_special, "Leave special tokens out");
  decode->footer("Example: titan tokenizer decode assets/tokenizer 39 415");
  decode->callback([options, &exit_code] {
    run_decode(*options);
    exit_code = 0;
  });

  Command* check =
      add_subcommand(*command,
                     "check",
                     "Runs cases.json beside the tokenizer; exit code 0 if all "
                     "ids and texts match, 1 if any differs",
                     *options);
  check->footer("Example: titan tokenizer check path/to/tokenizer");
  check->callback([options, &exit_code] { exit_code = run_check(*options); });
  add_tokenizer_render(*command, exit_code);
}

}  // namespace titan::cli

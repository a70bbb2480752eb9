// SPDX-License-Identifier: BSD-3-Clause
// `titan kernels`: which kernels there are, which one runs, how fast they are.
// `list` is here, the others have a file each.
#include "core/cli/kernels.h"

#include <filesystem>
#include <iostream>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/cli/commands.h"
#include "core/cli/kernel_rows.h"
#include "core/cli/session_options.h"
#include "core/cli/text_table.h"
#include "core/train/host_table.h"

namespace titan::cli {
namespace {

struct KernelListOptions {
  std::string op;
  train::SessionOptions session;
  bool is_json = false;
};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out.empty() ? "-" : out;
}

void print_kernels_json(const std::vector<KernelRow>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const KernelRow& row : rows)
    out.push_back({{"op", row.op},
                   {"id", row.id},
                   {"plugin", row.plugin},
                   {"path", row.path},
                   {"found_by", row.found_by},
                   {"target", row.target},
                   {"dtypes", row.dtypes},
                   {"flags", row.flags},
                   {"priority", row.priority},
                   {"runs_here", row.reason.empty()},
                   {"reason", row.reason}});
  std::cout << nlohmann::ordered_json{{"kernels", out}}.dump() << '\n';
}

void print_kernels_text(const std::vector<KernelRow>& rows) {
  std::vector<std::vector<std::string>> table = {{"OP",
                                                  "KERNEL",
                                                  "PLUGIN",
                                                  "HERE",
                                                  "PRIORITY",
                                                  "DTYPES",
                                                  "FLAGS",
                                                  "TARGET"}};
  for (const KernelRow& row : rows)
    table.push_back({row.op,
                     row.id,
                     row.plugin,
                     row.reason.empty() ? "yes" : "no",
                     text(row.priority),
                     joined(row.dtypes),
                     joined(row.flags),
                     row.target});
  std::cout << table_text(table);
  for (const KernelRow& row : rows)
    if (!row.reason.empty()) std::cout << row.id << ": " << row.reason << '\n';
}

void list_kernels(const KernelListOptions& options) {
  plugin::PluginRegistry registry(&train::host_table());
  registry.scan(search_of(options.session));
  const std::string op_id =
      options.op.empty() ? "" : op::find_op_by_name(options.op).id;
  const auto rows = known_kernels(registry, op_id);
  options.is_json ? print_kernels_json(rows) : print_kernels_text(rows);
}

void add_kernels_list(Command& kernels, int& exit_code) {
  Command* command = kernels.add_subcommand(
      "list", "Lists every kernel that is known, without running any");
  const auto options = std::make_shared<KernelListOptions>();
  command->add_option("--op", options->op, "only those of this op")
      ->type_name("OP");
  command->add_flag("--json", options->is_json, "Print one JSON object");
  add_plugin_options(*command, options->session);
  command->footer("Example: titan kernels list --op titan.attention/1");
  command->callback([options, &exit_code] {
    list_kernels(*options);
    exit_code = 0;
  });
}

}  // namespace

void add_call_options(Command& command, CallOptions& options) {
  command
      .add_option(
          "OP", options.request.op, "op: titan.attention/1, or attention")
      ->required();
  command
      .add_option("--shape",
                  options.request.shape,
                  "inputs: \"q=2048x16x16,k=2048x16x16,v=2048x16x16\"; "
                  "optional ones may be left out; default: the op's first case")
      ->type_name("SHAPES");
  command
      .add_option(
          "--dtype", options.dtype, "of floating inputs: fp32, bf16, fp16")
      ->type_name("DTYPE")
      ->capture_default_str();
  command
      .add_option("--set",
                  options.request.attributes,
                  "ATTRIBUTE=VALUE of the op; repeatable")
      ->one_value_each()
      ->type_name("ATTRIBUTE=VALUE");
}

op::ExampleCall call_of(const CallOptions& options) {
  op::ExampleRequest request = options.request;
  request.dtype = op::parse_dtype(options.dtype);
  return op::make_example_call(request);
}

std::string origin_text(const op::ExampleCall& call) {
  return call.origin.empty() ? "--shape" : call.origin + " (no --shape given)";
}

plugin::SearchOptions search_of(const train::SessionOptions& options) {
  plugin::SearchOptions search;
  search.files = options.plugin_files;
  search.folders = options.plugin_folders;
  search.relative_to = std::filesystem::current_path().string();
  return search;
}

void add_kernels_command(Command& app, int& exit_code) {
  Command* command = app.add_subcommand(
      "kernels", "Tells which kernels there are, which runs, how fast");
  command->require_subcommand();
  command->footer("Example: titan kernels list");
  add_kernels_list(*command, exit_code);
  add_kernels_explain(*command, exit_code);
  add_kernels_bench(*command, exit_code);
}

}  // namespace titan::cli

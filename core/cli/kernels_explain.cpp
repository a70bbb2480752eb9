// SPDX-License-Identifier: BSD-3-Clause
// `titan kernels explain`: what selection says for one call of an op.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/cli/kernel_rows.h"
#include "core/cli/kernels.h"
#include "core/cli/session_options.h"
#include "core/cli/text_table.h"
#include "core/op/select.h"

namespace titan::cli {
namespace {

struct ExplainOptions {
  CallOptions call;
  train::SessionOptions session;
  std::string recipe;
  std::string site;
  bool needs_gradient = false;
  bool is_json = false;
};

/// What selection says, and which kernels of the op never reached it.
struct Explanation {
  op::Selection selection;
  std::vector<KernelRow> unusable;
};

Explanation explain_with(const train::PluginHost& host,
                         const op::KernelSelector& selector,
                         const op::ExampleCall& call,
                         const ExplainOptions& options) {
  Explanation out;
  out.selection =
      selector.select(*call.spec,
                      call.attributes,
                      call.inputs,
                      options.site.empty() ? "the command line" : options.site,
                      options.needs_gradient);
  for (KernelRow& row : known_kernels(host.plugins, call.spec->id))
    if (!row.reason.empty()) out.unusable.push_back(std::move(row));
  return out;
}

Explanation explain_call(const op::ExampleCall& call,
                         const ExplainOptions& options) {
  if (!options.recipe.empty()) {
    const train::Session session(options.recipe, options.session);
    return explain_with(
        session.host(), *session.make_selector(), call, options);
  }
  const train::PluginHost host(search_of(options.session));
  op::KernelPolicy policy;
  policy.force_from_environment();
  const op::KernelSelector selector(host.kernels, std::move(policy));
  return explain_with(host, selector, call, options);
}

void print_explanation_json(const op::ExampleCall& call,
                            const Explanation& found,
                            const ExplainOptions& options) {
  nlohmann::ordered_json out = {
      {"op", call.spec->id},
      {"shape", op::shape_text(*call.spec, call.inputs)},
      {"shape_from", origin_text(call)},
      {"dtype", options.call.dtype},
      {"attributes", call.attributes.text()},
      {"gradient", options.needs_gradient},
      {"recipe", options.recipe},
      {"site", options.site},
      {"chosen", found.selection.kernel->id()},
      {"candidates", nlohmann::ordered_json::array()},
      {"not_loaded", nlohmann::ordered_json::array()}};
  for (const op::Candidate& candidate : found.selection.candidates)
    out["candidates"].push_back({{"id", candidate.kernel_id},
                                 {"score", candidate.score},
                                 {"priority", candidate.priority},
                                 {"is_chosen", candidate.is_chosen},
                                 {"reason", candidate.reason}});
  for (const KernelRow& row : found.unusable)
    out["not_loaded"].push_back({{"id", row.id}, {"reason", row.reason}});
  std::cout << out.dump() << '\n';
}

void print_explanation_text(const op::ExampleCall& call,
                            const Explanation& found,
                            const ExplainOptions& options) {
  std::cout << "op          " << call.spec->id << '\n'
            << "shapes      " << op::shape_text(*call.spec, call.inputs) << ' '
            << options.call.dtype << ", from " << origin_text(call) << '\n'
            << "attributes  " << call.attributes.text() << '\n'
            << "gradient    " << (options.needs_gradient ? "wanted" : "none")
            << '\n';
  if (!options.recipe.empty())
    std::cout << "site        " << options.site << " of " << options.recipe
              << '\n';
  std::cout << "chosen      " << found.selection.kernel->id() << "\n\n";
  std::vector<std::vector<std::string>> table = {
      {"CANDIDATE", "SCORE", "PRIORITY", "WHY"}};
  for (const op::Candidate& candidate : found.selection.candidates)
    table.push_back({candidate.kernel_id,
                     text(candidate.score),
                     text(candidate.priority),
                     candidate.is_chosen ? "chosen" : candidate.reason});
  std::cout << table_text(table);
  for (const KernelRow& row : found.unusable)
    std::cout << row.id << ", not loaded: " << row.reason << '\n';
}

}  // namespace

void add_kernels_explain(Command& kernels, int& exit_code) {
  Command* command = kernels.add_subcommand(
      "explain", "Tells which kernel runs for given shapes, and why");
  const auto options = std::make_shared<ExplainOptions>();
  add_call_options(*command, options->call);
  command->add_flag("--grad",
                    options->needs_gradient,
                    "a gradient is wanted: kernels without one refuse");
  Option* recipe =
      command->add_option("--recipe",
                          options->recipe,
                          "apply this recipe's `kernels` and `overrides`");
  recipe->type_name("FILE");
  Option* site = command->add_option(
      "--site", options->site, "call site: layers.0.attention.inner");
  site->type_name("FQN");
  recipe->needs(site);
  site->needs(recipe);
  add_plugin_options(*command, options->session);
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command->footer(
      "Example: titan kernels explain attention --grad --shape "
      "\"q=2048x16x16,k=2048x16x16,v=2048x16x16\"");
  command->callback([options, &exit_code] {
    const op::ExampleCall call = call_of(options->call);
    const Explanation found = explain_call(call, *options);
    options->is_json ? print_explanation_json(call, found, *options)
                     : print_explanation_text(call, found, *options);
    exit_code = 0;
  });
}

}  // namespace titan::cli

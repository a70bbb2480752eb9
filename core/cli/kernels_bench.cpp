// SPDX-License-Identifier: BSD-3-Clause
// `titan kernels bench`: the kernels of an op timed beside its reference.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/kernels.h"
#include "core/cli/session_options.h"
#include "core/cli/text_table.h"
#include "core/observe/cores.h"
#include "core/op/kernel_timing.h"
#include "core/op/select.h"

namespace titan::cli {
namespace {

struct KernelBenchOptions {
  CallOptions call;
  train::SessionOptions session;
  std::string kernels;  // ids, with commas
  op::TimingOptions timing;
  int threads = 0;
  bool has_no_error = false;
  bool is_json = false;
};

/// Kernels that take the call, the reference last, and why others do not.
struct Contenders {
  std::vector<std::shared_ptr<const op::Kernel>> kernels;
  std::vector<op::Candidate> refused;
};

Contenders contenders_of(const train::PluginHost& host,
                         const op::ExampleCall& call) {
  const op::KernelSelector selector(host.kernels, {});
  Contenders out;
  for (op::Candidate& candidate :
       selector
           .select(*call.spec, call.attributes, call.inputs, "the command line")
           .candidates) {
    if (candidate.score == 0) {
      out.refused.push_back(std::move(candidate));
      continue;
    }
    for (const auto& kernel : host.kernels->kernels_of(call.spec->id))
      if (kernel->id() == candidate.kernel_id) out.kernels.push_back(kernel);
  }
  out.kernels.push_back(op::reference_kernel(*call.spec));
  return out;
}

bool is_in_list(const std::string& list, const std::string& id) {
  return (',' + list + ',').find(',' + id + ',') != std::string::npos;
}

/// Leaves those of --kernels, and the reference.
void keep_named(const std::string& list, Contenders& contenders) {
  if (list.empty()) return;
  std::vector<std::string> known;
  for (const auto& kernel : contenders.kernels) known.push_back(kernel->id());
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string id = list.substr(begin, end - begin);
    for (const op::Candidate& refused : contenders.refused)
      TITAN_USER_CHECK(refused.kernel_id != id,
                       "[--kernels] ",
                       id,
                       " does not take this call: ",
                       refused.reason);
    TITAN_USER_CHECK(std::find(known.begin(), known.end(), id) != known.end(),
                     "[--kernels] expected some of ",
                     known,
                     ", got \"",
                     id,
                     "\". `titan kernels list` shows all.");
    begin = end + 1;
  }
  std::erase_if(contenders.kernels, [&](const auto& kernel) {
    return kernel->id() != op::kReferenceKernel &&
           !is_in_list(list, kernel->id());
  });
}

struct Measured {
  op::ExampleCall call;
  op::CallCost cost;
  std::vector<op::KernelTiming> timings;  // the reference last
  std::vector<op::Candidate> refused;

  double speed(const op::KernelTiming& timing) const {
    return timings.back().ms_median() / std::max(timing.ms_median(), 1e-9);
  }
  double flops_per_second(const op::KernelTiming& timing) const {
    return cost.flops / std::max(timing.ms_median(), 1e-9) * 1e3;
  }
  double bytes_per_second(const op::KernelTiming& timing) const {
    return cost.bytes / std::max(timing.ms_median(), 1e-9) * 1e3;
  }
};

std::string wait_policy() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  return policy == nullptr ? "unset (threads spin)" : policy;
}

void print_measured_json(const Measured& measured,
                         const KernelBenchOptions& options) {
  nlohmann::ordered_json out = {
      {"op", measured.call.spec->id},
      {"shape", op::shape_text(*measured.call.spec, measured.call.inputs)},
      {"shape_from", origin_text(measured.call)},
      {"dtype", options.call.dtype},
      {"attributes", measured.call.attributes.text()},
      {"threads", at::get_num_threads()},
      {"omp_wait_policy", wait_policy()},
      {"steps", options.timing.steps},
      {"warmup", options.timing.warmup},
      {"seed", options.timing.seed},
      {"flops", measured.cost.flops},
      {"bytes", measured.cost.bytes},
      {"kernels", nlohmann::ordered_json::array()},
      {"refused", nlohmann::ordered_json::array()}};
  for (const op::KernelTiming& timing : measured.timings) {
    nlohmann::ordered_json row = {
        {"id", timing.kernel_id},
        {"forward_ms_median", op::median_of(timing.forward_ms)},
        {"backward_ms_median", op::median_of(timing.backward_ms)},
        {"ms_median", timing.ms_median()},
        {"ms_min", timing.ms_min()},
        {"speed_of_reference", measured.speed(timing)},
        {"gflops_s", measured.flops_per_second(timing) / 1e9},
        {"gb_s", measured.bytes_per_second(timing) / 1e9}};
    if (timing.forward_error >= 0) row["forward_error"] = timing.forward_error;
    if (timing.backward_error >= 0)
      row["backward_error"] = timing.backward_error;
    out["kernels"].push_back(std::move(row));
  }
  for (const op::Candidate& refused : measured.refused)
    out["refused"].push_back(
        {{"id", refused.kernel_id}, {"reason", refused.reason}});
  std::cout << out.dump() << '\n';
}

std::string error_cell(double error) {
  return error < 0 ? "-" : short_text(error);
}

void print_measured_text(const Measured& measured,
                         const KernelBenchOptions& options) {
  std::cout << measured.call.spec->id << "  "
            << op::shape_text(*measured.call.spec, measured.call.inputs) << ' '
            << options.call.dtype << ", from " << origin_text(measured.call)
            << '\n'
            << measured.call.attributes.text() << '\n'
            << "threads " << at::get_num_threads() << ", OMP_WAIT_POLICY "
            << wait_policy() << ", " << options.timing.steps
            << " steps in turns after " << options.timing.warmup << '\n'
            << "times in ms, medians; step = forward + backward\n\n";
  std::vector<std::vector<std::string>> table = {{"KERNEL",
                                                  "FORWARD",
                                                  "BACKWARD",
                                                  "STEP",
                                                  "MIN",
                                                  "SPEED",
                                                  "GFLOP/S",
                                                  "GB/S",
                                                  "ERROR",
                                                  "GRAD ERROR"}};
  for (const op::KernelTiming& timing : measured.timings)
    table.push_back({timing.kernel_id,
                     fixed_text(op::median_of(timing.forward_ms), 3),
                     timing.backward_ms.empty()
                         ? "-"
                         : fixed_text(op::median_of(timing.backward_ms), 3),
                     fixed_text(timing.ms_median(), 3),
                     fixed_text(timing.ms_min(), 3),
                     fixed_text(measured.speed(timing), 2) + 'x',
                     fixed_text(measured.flops_per_second(timing) / 1e9, 2),
                     fixed_text(measured.bytes_per_second(timing) / 1e9, 2),
                     error_cell(timing.forward_error),
                     error_cell(timing.backward_error)});
  std::cout << table_text(table);
  for (const op::Candidate& refused : measured.refused)
    std::cout << refused.kernel_id << " refuses: " << refused.reason << '\n';
  std::cout << "\nSPEED: of the reference. GB/S: inputs, outputs and their "
               "gradients once each.\nERROR: largest difference from the "
               "reference in fp64, over its largest value.\n";
}

void bench_kernels(KernelBenchOptions& options) {
  at::set_num_threads(options.threads > 0
                          ? options.threads
                          : read_core_facts().num_compute_threads());
  options.timing.has_error = !options.has_no_error;
  Measured measured;
  measured.call = call_of(options.call);
  const train::PluginHost host(search_of(options.session));
  Contenders contenders = contenders_of(host, measured.call);
  keep_named(options.kernels, contenders);
  measured.cost = op::cost_of(measured.call);
  measured.timings =
      op::time_kernels(measured.call, contenders.kernels, options.timing);
  measured.refused = std::move(contenders.refused);
  options.is_json ? print_measured_json(measured, options)
                  : print_measured_text(measured, options);
}

}  // namespace

void add_kernels_bench(Command& kernels, int& exit_code) {
  Command* command = kernels.add_subcommand(
      "bench", "Times the kernels of an op beside its reference");
  const auto options = std::make_shared<KernelBenchOptions>();
  add_call_options(*command, options->call);
  command
      ->add_option("--kernels",
                   options->kernels,
                   "only these, beside the reference: A,B")
      ->type_name("IDS");
  command->add_option("--steps", options->timing.steps, "timed steps")
      ->positive()
      ->capture_default_str();
  command->add_option("--warmup", options->timing.warmup, "steps before them")
      ->non_negative()
      ->capture_default_str();
  command
      ->add_option("--threads", options->threads, "CPU threads; 0: all cores")
      ->non_negative()
      ->capture_default_str();
  command->add_option("--seed", options->timing.seed, "of the inputs' values")
      ->capture_default_str();
  command->add_flag("--no-error",
                    options->has_no_error,
                    "do not compute the reference in fp64");
  add_plugin_options(*command, options->session);
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command->footer(
      "Example: titan kernels bench attention --threads 1 --shape "
      "\"q=2048x16x16,k=2048x16x16,v=2048x16x16\"");
  command->callback([options, &exit_code] {
    bench_kernels(*options);
    exit_code = 0;
  });
}

}  // namespace titan::cli

// SPDX-License-Identifier: BSD-3-Clause
// `titan checkpoint inspect|verify|diff|prune`: looks at saved checkpoints
// without a model. The work is core/checkpoint's.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/checksum.h"
#include "core/checkpoint/difference.h"
#include "core/cli/checkpoint_place.h"
#include "core/cli/commands.h"
#include "core/cli/run_titan.h"
#include "core/cli/session_options.h"

namespace titan::cli {
namespace {

namespace ckpt = titan::checkpoint;
namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// As diff(1) has it: trouble is 2, a difference is not trouble.
struct CheckpointOptions {
  std::string folder;
  std::string other_folder;
  std::string recipe;
  train::SessionOptions session;
  ckpt::Retention retention;
  bool is_json = false;
  bool is_dry_run = false;
  bool should_list_tensors = false;
};

CheckpointPlace place_of(const CheckpointOptions& options) {
  return open_place(options.folder, options.recipe, options.session);
}

// The checkpoint that `path` is, or the newest good one in it.
ckpt::CheckpointReader open_checkpoint(const ckpt::FileSystem& files,
                                       const fs::path& path) {
  ckpt::LatestCheckpoint found = ckpt::find_checkpoint(files, path);
  for (const std::string& reason : found.rejected)
    std::cerr << "passed over: " << reason << '\n';
  TITAN_USER_CHECK(found.reader.has_value(),
                   "[checkpoint ",
                   path.string(),
                   "] folder: expected a checkpoint or a folder of "
                   "checkpoints, got ",
                   found.rejected.empty() ? "none" : "only damaged ones");
  return std::move(*found.reader);
}

void print_json(const OrderedJson& json) {
  // Names of tensors may be any bytes.
  std::cout << json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
            << '\n';
}

// Sums over the tensors of one role.
struct RoleTotals {
  std::set<std::string_view> tensors;
  std::set<std::string_view> dtypes;
  std::int64_t num_elements = 0;
  std::int64_t size_bytes = 0;
};

std::map<std::string, RoleTotals> sum_by_role(const ckpt::Manifest& manifest) {
  std::map<std::string, RoleTotals> totals;
  for (const ckpt::TensorRecord& tensor : manifest.tensors) {
    RoleTotals& role = totals[tensor.role];
    const std::int64_t count = ckpt::num_elements(tensor.region);
    role.tensors.insert(tensor.name);
    role.dtypes.insert(ckpt::dtype_name(tensor.dtype));
    role.num_elements += count;
    role.size_bytes += count * ckpt::dtype_size_bytes(tensor.dtype);
  }
  return totals;
}

OrderedJson inspection_json(const ckpt::CheckpointReader& reader) {
  const ckpt::Manifest& manifest = reader.manifest();
  OrderedJson json = {{"path", reader.path().string()},
                      {"step", manifest.step},
                      {"world_size", manifest.world_size},
                      {"files", OrderedJson::array()},
                      {"roles", OrderedJson::object()},
                      {"tensors", OrderedJson::array()},
                      {"trainer", OrderedJson::parse(manifest.state.trainer)},
                      {"recipe", OrderedJson::parse(manifest.state.recipe)},
                      {"plugins", OrderedJson::parse(manifest.state.plugins)},
                      {"layout", OrderedJson::parse(manifest.state.layout)}};
  for (const ckpt::FileRecord& file : manifest.files)
    json["files"].push_back({{"name", file.name},
                             {"size", file.size_bytes},
                             {"checksum", ckpt::checksum_text(file.checksum)}});
  for (const auto& [role, totals] : sum_by_role(manifest))
    json["roles"][role] = {{"tensors", totals.tensors.size()},
                           {"elements", totals.num_elements},
                           {"bytes", totals.size_bytes}};
  for (const ckpt::TensorRecord& tensor : manifest.tensors)
    json["tensors"].push_back({{"name", tensor.name},
                               {"role", tensor.role},
                               {"dtype", ckpt::dtype_name(tensor.dtype)},
                               {"shape", tensor.shape},
                               {"offset", tensor.region.offset},
                               {"extent", tensor.region.extent},
                               {"file", tensor.file}});
  return json;
}

void print_inspection(const ckpt::CheckpointReader& reader,
                      bool should_list_tensors) {
  const ckpt::Manifest& manifest = reader.manifest();
  std::cout << text("checkpoint  ",
                    reader.path().string(),
                    "\nstep        ",
                    manifest.step,
                    "\nworld size  ",
                    manifest.world_size,
                    '\n');
  for (const ckpt::FileRecord& file : manifest.files)
    std::cout << text("file        ",
                      file.name,
                      ", ",
                      file.size_bytes,
                      " bytes, xxh3 ",
                      ckpt::checksum_text(file.checksum),
                      '\n');
  for (const auto& [role, totals] : sum_by_role(manifest))
    std::cout << text("role        ",
                      role,
                      ": ",
                      totals.tensors.size(),
                      " tensors, ",
                      totals.num_elements,
                      " elements, ",
                      totals.size_bytes,
                      " bytes, ",
                      totals.dtypes,
                      '\n');
  std::cout << text("trainer     ", manifest.state.trainer, '\n');
  if (!should_list_tensors) return;
  for (const ckpt::TensorRecord& tensor : manifest.tensors)
    std::cout << text("tensor      ",
                      tensor.role,
                      ' ',
                      tensor.name,
                      ' ',
                      ckpt::dtype_name(tensor.dtype),
                      ' ',
                      tensor.shape,
                      " offset ",
                      tensor.region.offset,
                      " extent ",
                      tensor.region.extent,
                      " in ",
                      tensor.file,
                      '\n');
}

int inspect(const CheckpointOptions& options) {
  const CheckpointPlace place = place_of(options);
  const ckpt::CheckpointReader reader =
      open_checkpoint(place.files(), place.folder);
  if (options.is_json)
    print_json(inspection_json(reader));
  else
    print_inspection(reader, options.should_list_tensors);
  return 0;
}

// Every byte of one checkpoint; the fault found, or nothing.
std::string fault_of(const ckpt::FileSystem& files, const fs::path& path) {
  try {
    const ckpt::CheckpointReader reads_it(
        path, ckpt::Verification::kChecksums, files);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

int verify(const CheckpointOptions& options) {
  const CheckpointPlace place = place_of(options);
  const ckpt::FileSystem& files = place.files();
  std::vector<fs::path> paths;
  if (files.size(place.folder / ckpt::kManifestName)) {
    paths.push_back(place.folder);
  } else {
    for (const ckpt::CheckpointEntry& entry :
         ckpt::list_checkpoints(files, place.folder))
      paths.push_back(entry.path);
  }
  TITAN_USER_CHECK(!paths.empty(),
                   "[checkpoint ",
                   place.folder.string(),
                   "] folder: expected a checkpoint or a folder of "
                   "checkpoints, got none");
  OrderedJson json = OrderedJson::array();
  bool is_good = true;
  for (const fs::path& path : paths) {
    const std::string fault = fault_of(files, path);
    is_good = is_good && fault.empty();
    json.push_back(
        {{"path", path.string()}, {"good", fault.empty()}, {"fault", fault}});
    if (!options.is_json)
      std::cout << text(path.string(),
                        fault.empty() ? ": good" : ": damaged\n  ",
                        fault,
                        '\n');
  }
  if (options.is_json)
    print_json({{"good", is_good}, {"checkpoints", std::move(json)}});
  return is_good ? 0 : kExitUserError;
}

// JSON has no infinity.
OrderedJson number_json(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson("inf");
}

OrderedJson difference_json(const ckpt::CheckpointDifference& difference) {
  OrderedJson json = {{"equal", difference.is_empty()},
                      {"equal_tensors", difference.num_equal},
                      {"state", difference.state_parts},
                      {"tensors", OrderedJson::array()}};
  for (const ckpt::TensorDifference& tensor : difference.tensors)
    json["tensors"].push_back(
        {{"role", tensor.role},
         {"name", tensor.name},
         {"reason", tensor.reason},
         {"elements", tensor.num_elements},
         {"different", tensor.num_different},
         {"max_abs", number_json(tensor.max_abs)},
         {"relative_norm", number_json(tensor.relative_norm)}});
  return json;
}

void print_difference(const ckpt::CheckpointDifference& difference) {
  for (const ckpt::TensorDifference& tensor : difference.tensors) {
    std::cout << text(tensor.role, ' ', tensor.name, ": ");
    if (tensor.reason.empty())
      std::cout << text(tensor.num_different,
                        " of ",
                        tensor.num_elements,
                        " elements differ, max abs ",
                        tensor.max_abs,
                        ", relative norm ",
                        tensor.relative_norm,
                        '\n');
    else
      std::cout << tensor.reason << '\n';
  }
  for (const std::string& part : difference.state_parts)
    std::cout << part << " differs\n";
  std::cout << text(difference.num_equal,
                    " tensors are equal, ",
                    difference.tensors.size(),
                    " differ\n");
}

int diff(const CheckpointOptions& options) {
  const CheckpointPlace place = place_of(options);
  const ckpt::CheckpointDifference difference = ckpt::compare_checkpoints(
      open_checkpoint(place.files(), options.folder),
      open_checkpoint(place.files(), options.other_folder));
  if (options.is_json)
    print_json(difference_json(difference));
  else
    print_difference(difference);
  return difference.is_empty() ? 0 : kExitDifferent;
}

int prune(const CheckpointOptions& options) {
  const CheckpointPlace place = place_of(options);
  ckpt::FileSystem& files = place.files();
  TITAN_USER_CHECK(files.exists(place.folder),
                   "[checkpoint ",
                   place.folder.string(),
                   "] folder: expected a folder of checkpoints, got none");
  std::vector<fs::path> paths;
  if (options.is_dry_run)
    for (const ckpt::CheckpointEntry& entry :
         ckpt::checkpoints_to_prune(files, place.folder, options.retention))
      paths.push_back(entry.path);
  else
    paths = ckpt::prune_checkpoints(files, place.folder, options.retention);
  OrderedJson json = {{"dry_run", options.is_dry_run},
                      {"removed", OrderedJson::array()}};
  for (const fs::path& path : paths) {
    json["removed"].push_back(path.string());
    if (!options.is_json)
      std::cout << (options.is_dry_run ? "would remove " : "removed ")
                << path.string() << '\n';
  }
  if (options.is_json) print_json(json);
  return 0;
}

// Adds one of the four, with what all of them have.
Command* add_action(Command* command,
                    const std::string& name,
                    const std::string& help,
                    int (*action)(const CheckpointOptions&),
                    int& exit_code,
                    const std::shared_ptr<CheckpointOptions>& options) {
  Command* const sub = command->add_subcommand(name, help);
  sub->add_flag("--json", options->is_json, "Print one JSON object");
  sub->add_option("--recipe",
                  options->recipe,
                  "Look where this recipe's runs keep their checkpoints, such "
                  "as a bucket; DIR may then be left out")
      ->type_name("RECIPE");
  add_session_options(*sub, options->session);
  sub->callback(
      [action, options, &exit_code] { exit_code = action(*options); });
  return sub;
}

}  // namespace

void add_checkpoint_command(Command& app, int& exit_code) {
  Command* const command = app.add_subcommand(
      "checkpoint", "Shows, verifies, compares and prunes saved checkpoints");
  command->require_subcommand();
  command->footer("Example: titan checkpoint verify runs/debug/checkpoints");
  const auto options = std::make_shared<CheckpointOptions>();
  const std::string folder_help =
      "A checkpoint, or a folder of checkpoints, of which the newest is taken";
  const auto add = [&](const char* name, const char* help, auto action) {
    return add_action(command, name, help, action, exit_code, options);
  };

  Command* sub = add("inspect", "Shows what a checkpoint holds", inspect);
  sub->add_option("DIR", options->folder, folder_help);
  sub->add_flag("--tensors", options->should_list_tensors, "List every tensor");
  sub->footer(
      "Example: titan checkpoint inspect runs/debug/checkpoint --tensors");

  sub = add("verify", "Reads every byte; exits 2 when any is damaged", verify);
  sub->add_option("DIR",
                  options->folder,
                  "A checkpoint, or a folder of checkpoints: all are "
                  "verified");
  sub->footer("Example: titan checkpoint verify runs/debug/checkpoint --json");

  sub = add("diff", "Compares two checkpoints; exits 1 when they differ", diff);
  sub->add_option("A", options->folder, folder_help)->required();
  sub->add_option("B", options->other_folder, folder_help)->required();
  sub->footer(
      "Example: titan checkpoint diff runs/a/checkpoint runs/b/checkpoint");

  sub = add("prune", "Deletes all but the newest complete ones", prune);
  sub->add_option("DIR", options->folder, "A folder of checkpoints");
  sub->add_option(
         "--keep", options->retention.keep, "How many to keep, at least 1")
      ->required();
  sub->add_option("--keep-every",
                  options->retention.keep_every,
                  "Keep also the steps that are multiples of this");
  sub->add_flag("--dry-run", options->is_dry_run, "Only say what would go");
  sub->footer(
      "Example: titan checkpoint prune runs/debug/checkpoint --keep 3 "
      "--keep-every 1000 --dry-run");
}

}  // namespace titan::cli

// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/kernel_rows.h"

#include <algorithm>
#include <tuple>

#include <titan/abi.h>
#include <titan/text.h>

#include "core/op/catalogue.h"
#include "core/op/kernel.h"
#include "core/plugin/inspection.h"

namespace titan::cli {
namespace {

std::vector<std::string> flag_names(uint32_t flags) {
  constexpr std::pair<uint32_t, const char*> kNames[] = {
      {TITAN_KERNEL_HAS_BACKWARD, "backward"},
      {TITAN_KERNEL_DETERMINISTIC, "deterministic"},
      {TITAN_KERNEL_BATCH_INVARIANT, "batch-invariant"},
      {TITAN_KERNEL_GRAPH_SAFE, "graph-safe"},
      {TITAN_KERNEL_NEEDS_CONTIGUOUS, "needs-contiguous"}};
  std::vector<std::string> out;
  for (const auto& [flag, name] : kNames)
    if (flags & flag) out.emplace_back(name);
  return out;
}

std::vector<std::string> dtype_names(uint64_t mask) {
  std::vector<std::string> out;
  for (int code = 0; code < 64; ++code)
    if (mask >> code & 1)
      out.emplace_back(op::dtype_name(static_cast<at::ScalarType>(code)));
  return out;
}

std::string target_name(const plugin::KernelMatch& kernel) {
  if (kernel.device == TITAN_DEVICE_CPU) {
    std::string out = "cpu";
    const auto names = plugin::cpu_feature_names();
    for (size_t i = 0; i < names.size(); ++i)
      if (kernel.cpu_features >> i & 1) out += ' ' + std::string(names[i]);
    return out;
  }
  if (kernel.device != TITAN_DEVICE_CUDA)
    return text("device type ", kernel.device);
  if (kernel.arch_min == 0 && kernel.arch_max == 0) return "cuda";
  if (kernel.arch_min == kernel.arch_max)
    return text("cuda sm_", kernel.arch_min);
  if (kernel.arch_max == 0) return text("cuda sm_", kernel.arch_min, " and up");
  return text("cuda sm_", kernel.arch_min, " to sm_", kernel.arch_max);
}

KernelRow reference_row(const op::OpSpec& spec) {
  const auto reference = op::reference_kernel(spec);
  KernelRow row;
  row.op = spec.id;
  row.id = reference->id();
  row.plugin = "titan";
  row.found_by = "core";
  row.target = "any";
  for (const auto& [dtype, tolerance] : spec.tolerances)
    row.dtypes.emplace_back(op::dtype_name(dtype));
  row.flags = flag_names(reference->match().flags);
  return row;
}

KernelRow plugin_row(const plugin::PluginStatus& status,
                     const plugin::ManifestComponent& component,
                     const plugin::HostFacts& host) {
  const plugin::KernelMatch& kernel = *component.kernel;
  KernelRow row;
  row.op = kernel.op;
  row.id = component.id;
  row.plugin = status.manifest->name;
  row.path = status.path;
  row.found_by = plugin::level_name(status.level);
  row.target = target_name(kernel);
  row.dtypes = dtype_names(kernel.dtype_mask);
  row.flags = flag_names(kernel.flags);
  row.priority = kernel.priority;
  if (status.state == plugin::State::kFailed ||
      status.state == plugin::State::kShadowed)
    row.reason = status.reason;
  if (const auto bad = plugin::refuse_component(component, host, status.path))
    row.reason = bad->text;
  return row;
}

}  // namespace

std::vector<KernelRow> known_kernels(const plugin::PluginRegistry& registry,
                                     const std::string& op_id) {
  std::vector<KernelRow> rows;
  for (const plugin::PluginStatus& status : registry.list()) {
    if (!status.manifest) continue;
    for (const auto& component : status.manifest->components)
      if (component.kernel)
        rows.push_back(plugin_row(status, component, registry.facts()));
  }
  for (const op::OpSpec* spec : op::all_ops())
    rows.push_back(reference_row(*spec));
  if (!op_id.empty())
    std::erase_if(rows, [&](const KernelRow& row) { return row.op != op_id; });
  std::stable_sort(
      rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
        return std::tuple(a.op, -a.priority, a.id) <
               std::tuple(b.op, -b.priority, b.id);
      });
  return rows;
}

}  // namespace titan::cli

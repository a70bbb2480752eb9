// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/host_table.h"

#include <ATen/Parallel.h>
#include <torch/headeronly/version.h>

#include "core/config/component_config.h"
#include "core/module/builder.h"
#include "core/module/context.h"
#include "core/module/editor.h"
#include "core/observe/log.h"
#include "core/observe/signals.h"
#include "core/op/aten_call.h"
#include "core/op/tensor_api.h"
#include "core/plugin/abi_call.h"

namespace titan::train {
namespace {

constexpr uint64_t kTorchVersion = uint64_t{TORCH_VERSION_MAJOR} << 32 |
                                   uint64_t{TORCH_VERSION_MINOR} << 16 |
                                   uint64_t{TORCH_VERSION_PATCH};

// Absent is an ordinary answer.
const void* get_interface(titan_host*, titan_str id) {
  return plugin::view(id) == TITAN_EDITOR_INTERFACE ? &module::editor_api()
                                                    : nullptr;
}

void write_log(titan_host*, int32_t level, titan_str message) {
  constexpr log::Level kLevels[] = {log::Level::kDebug,
                                    log::Level::kInfo,
                                    log::Level::kWarn,
                                    log::Level::kError};
  const int32_t known = level < 0 ? 0 : level > 3 ? 3 : level;
  log::write(kLevels[known], plugin::view(message));
}

int32_t is_cancelled(titan_host*) {
  return stop_requested() == StopRequest::kNone ? 0 : 1;
}

void parallel_for(titan_host*,
                  int64_t begin,
                  int64_t end,
                  int64_t grain,
                  void (*body)(void*, int64_t, int64_t),
                  void* arg) {
  at::parallel_for(begin, end, grain, [&](int64_t first, int64_t last) {
    body(arg, first, last);
  });
}

const titan_op_api& op_api() {
  static const titan_op_api api = {
      .struct_size = sizeof(titan_op_api),
      .reserved = 0,
      .aten_resolve = op::aten_resolve,
      .aten_call = op::aten_call,
      .invoke = module::invoke_site,
  };
  return api;
}

}  // namespace

const titan_host_api& host_table() {
  static const titan_host_api api = {
      .struct_size = sizeof(titan_host_api),
      .abi_minor = TITAN_ABI_MINOR,
      .torch_version = kTorchVersion,
      .host = nullptr,
      .tensor = &op::tensor_api(),
      .config = &config::config_api(),
      .op = &op_api(),
      .builder = &module::builder_api(),
      .context = &module::context_api(),
      .get_interface = get_interface,
      .log = write_log,
      .is_cancelled = is_cancelled,
      .parallel_for = parallel_for,
  };
  return api;
}

}  // namespace titan::train

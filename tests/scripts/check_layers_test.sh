#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check_layers accepts the allowed directions and names each forbidden one.
source "$(dirname "$0")/expect.sh"

put core/train/step.cpp '#include "core/op/slot.h"' '#include <ATen/ATen.h>'
put core/config/document.cpp '#include <yaml-cpp/yaml.h>' \
  '#include <nlohmann/json.hpp>'
put plugins/models/llama3/model.cpp '#include <titan/sdk.hpp>' \
  '#include "plugins/models/layers/attention.h"'
put plugins/kernels/swiglu/b.cpp '#include "plugins/kernels/simd/vector.h"'
put plugins/kernels/cpu_avx2/plugin.cpp '#include "plugins/kernels/swiglu/b.h"'
put tests/unit/x_test.cpp '#include "core/op/slot.h"' '#include <spdlog/spdlog.h>'
expect 0 "point the right way" "$scripts/check_layers" .

# bad FILE INCLUDE TEXT: the include alone makes the check fail with TEXT.
bad() {
  put "$1" "#include $2"
  expect 1 "$3" "$scripts/check_layers" .
  expect 1 "$1:1:" "$scripts/check_layers" .
  rm "$1"
}
bad plugins/kernels/swiglu/a.cpp '"core/op/slot.h"' "know nothing of core"
bad plugins/kernels/swiglu/a.cpp '<ATen/ATen.h>' "at home in"
bad plugins/models/llama3/a.cpp '"plugins/models/qwen3/model.h"' "its own folder"
bad plugins/kernels/swiglu/a.cpp '"plugins/kernels/rope/a.h"' "its own folder"
bad plugin_api/include/titan/a.hpp '<torch/all.h>' "at home in"
bad core/op/a.cpp '"plugins/models/llama3/model.h"' "never names a plugin"
bad core/op/a.cpp '"core/cli/commands.h"' "only core/cli"
bad core/op/a.cpp '"tests/tensor_compare.h"' "only tests may"
bad core/op/a.cpp '"slot.h"' "full path"
bad core/op/a.cpp '"../train/step.h"' "relative include"
bad core/op/a.cpp '<torch/torch.h>' "18 s"
bad core/op/a.h '<nlohmann/json.hpp>' "out of headers"
bad core/op/a.cpp '<yaml-cpp/yaml.h>' "at home in core/config"
bad core/observe/a.cpp '<ATen/ATen.h>' "at home in"
bad core/observe/a.cpp '<CLI/CLI.hpp>' "at home in core/cli"
bad tests/unit/a_test.cpp '<torch/torch.h>' "18 s"
expect 0 "point the right way" "$scripts/check_layers" .
finish

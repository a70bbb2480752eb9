#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# compile_time_test.sh c++: plugin files compile within the limit of
# tests/scripts/compile_limit.sh.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/scripts/compile_limit.sh"
compiler=$1
limit_ms=$(compile_limit_ms "$compiler")
echo "limit: $limit_ms ms"
for source in tests/abi/example/swiglu.cpp plugins/models/llama3/model.cpp \
  plugins/models/llama3/hf.cpp plugins/models/llama3/plugin.cpp \
  plugins/optimizers/adamw/plugin.cpp; do
  best=$(best_ms "$limit_ms" "$compiler" -std=c++20 -O2 -fPIC \
    -fvisibility=hidden -I"$root" -I"$root/plugin_api/include" \
    -c "$root/$source" -o /dev/null)
  echo "$source: $best ms"
  if ((best >= limit_ms)); then
    echo "[compile time] $source: expected under $limit_ms ms, got $best ms"
    exit 1
  fi
done

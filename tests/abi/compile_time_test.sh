#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# compile_time_test.sh c++: a plugin file compiles in under 3 s of CPU time (best of
# three), so that the SDK stays pleasant. Measured on a busy machine, g++ 12 -O2:
# the documented example 0.9 s, llama3/model.cpp 2.0 s.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$1
limit_ms=3000
object=$(mktemp)
trap 'rm -f "$object"' EXIT
TIMEFORMAT=%U

compile_ms() {
  local seconds
  seconds=$({ time "$compiler" -std=c++20 -O2 -fPIC -fvisibility=hidden \
    -I"$root" -I"$root/plugin_api/include" -c "$1" -o "$object"; } 2>&1)
  awk -v s="$seconds" 'BEGIN {printf "%d", s * 1000}'
}

for source in tests/abi/example/swiglu.cpp plugins/models/llama3/model.cpp \
  plugins/models/llama3/hf.cpp plugins/models/llama3/plugin.cpp \
  plugins/optimizers/adamw/plugin.cpp; do
  best=999999
  for _ in 1 2 3; do
    ms=$(compile_ms "$root/$source")
    if ((ms < best)); then best=$ms; fi
    if ((best < limit_ms)); then break; fi
  done
  echo "$source: $best ms"
  if ((best >= limit_ms)); then
    echo "[compile time] $source: expected under $limit_ms ms, got $best ms"
    exit 1
  fi
done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# compile_time_test.sh c++: a plugin file compiles in under 3 s of CPU time (best of
# three), so that the SDK stays pleasant; on a slower machine in under 1.4 times
# what a small program with <regex> takes there. Measured, g++ 12 -O2: 0.9 s for
# the documented example and 2.0 s for llama3/model.cpp on one machine, 1.4 s and
# 3.6 s on another, where the program takes 3.9 s.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$1
object=$(mktemp)
yardstick=$(mktemp --suffix=.cpp)
trap 'rm -f "$object" "$yardstick"' EXIT
cat >"$yardstick" <<'END'
#include <iostream>
#include <map>
#include <regex>
int main(int count, char** words) {
  const std::regex pattern(words[0]);
  std::map<std::string, std::string> last;
  last[words[0]] = words[count - 1];
  std::cout << std::regex_replace(last.begin()->second, pattern, "x");
}
END
TIMEFORMAT=%U

compile_ms() {
  local seconds
  seconds=$({ time "$compiler" -std=c++20 -O2 -fPIC -fvisibility=hidden \
    -I"$root" -I"$root/plugin_api/include" -c "$1" -o "$object"; } 2>&1)
  awk -v s="$seconds" 'BEGIN {printf "%d", s * 1000}'
}

limit_ms=3000
measured=$(($(compile_ms "$yardstick") * 140 / 100))
if ((measured > limit_ms)); then
  limit_ms=$measured
  echo "a slow machine: the limit is $limit_ms ms"
fi

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

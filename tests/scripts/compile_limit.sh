#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# For tests of how long a plugin takes to compile; to be sourced. A plugin file
# takes under 3 s of CPU time, so that the SDK stays pleasant; on a slower
# machine under 1.4 times what a small program with <regex> takes there. Measured,
# g++ 12 -O2: 2.0 s for llama3/model.cpp on one machine, 3.6 s on another, where
# the program takes 3.9 s.

# cpu_ms COMMAND...: the CPU time that it takes, in milliseconds.
cpu_ms() {
  local seconds TIMEFORMAT=%U
  seconds=$({ time "$@" >/dev/null 2>&1; } 2>&1)
  awk -v s="$seconds" 'BEGIN {printf "%d", s * 1000}'
}

# best_ms LIMIT COMMAND...: the best of three, or the first below the limit.
best_ms() {
  local limit=$1 best=999999 ms
  shift
  for _ in 1 2 3; do
    ms=$(cpu_ms "$@")
    if ((ms < best)); then best=$ms; fi
    if ((best < limit)); then break; fi
  done
  echo "$best"
}

# compile_limit_ms COMPILER: what a plugin file may take on this machine.
compile_limit_ms() {
  local folder measured
  folder=$(mktemp -d)
  cat >"$folder/yardstick.cpp" <<'END'
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
  measured=$(cpu_ms "$1" -std=c++20 -O2 -fPIC -c "$folder/yardstick.cpp" \
    -o "$folder/yardstick.o")
  rm -r "$folder"
  measured=$((measured * 140 / 100))
  echo $((measured > 3000 ? measured : 3000))
}

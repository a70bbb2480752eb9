#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check_sizes fails at each limit, one line after passing at it.
source "$(dirname "$0")/expect.sh"

lines() {
  mkdir -p "$(dirname "$1")"
  seq "$2" >"$1"
}
lines core/op/a.cpp 600
lines core/train/step.cpp 250
lines plugin_api/include/titan/a.h 300
expect 0 "none too long" "$scripts/check_sizes" .
expect 0 "warning: core/op/a.cpp has 600 lines" "$scripts/check_sizes" .

lines core/op/a.cpp 601
expect 1 "core/op/a.cpp: too long: expected at most 600 lines, got 601" \
  "$scripts/check_sizes" .
put scripts/size_exceptions.txt "core/op/a.cpp a table of 500 rows"
expect 0 "none too long" "$scripts/check_sizes" .
put scripts/size_exceptions.txt "core/op/a.cpp"
expect 1 "expected a reason" "$scripts/check_sizes" .
put scripts/size_exceptions.txt "core/op/a.cpp a table" "core/op/gone.cpp a table"
expect 1 "core/op/gone.cpp: no such file" "$scripts/check_sizes" .
put scripts/size_exceptions.txt "core/op/a.cpp a table"
lines core/op/a.cpp 10
expect 1 "but has 10 lines" "$scripts/check_sizes" .
rm scripts/size_exceptions.txt

lines core/train/step.cpp 251
expect 1 "at most 250" "$scripts/check_sizes" .
lines core/train/step.cpp 1
lines plugin_api/include/titan/a.h 301
expect 1 "at most 300" "$scripts/check_sizes" .
finish

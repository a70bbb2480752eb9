#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The ABI's layout: equal in C11 and C++20, gcc and clang, and an extension of the
# golden list. `layout_test.sh --print` writes the list (to add a golden file with
# a new minor).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../plugin_api/include
golden=$here/golden/1.0.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -f "$here/list_fields.awk" "$include"/titan/abi/*.h > "$work/layout.c"
cp "$work/layout.c" "$work/layout.cpp"

layout_of() {  # compiler, language flags, source
  "$1" $2 -Wall -Wextra -Werror -pedantic -I"$include" "$work/$3" \
    -o "$work/layout"
  "$work/layout"
}

layout_of gcc -std=c11 layout.c > "$work/new.txt"
if [[ ${1:-} == --print ]]; then
  cat "$work/new.txt"
  exit 0
fi
layout_of g++ -std=c++20 layout.cpp | diff "$work/new.txt" -
if command -v clang > /dev/null && command -v clang++ > /dev/null; then
  layout_of clang '-std=c11 -Wpadded' layout.c | diff "$work/new.txt" -
  layout_of clang++ '-std=c++20 -Wpadded' layout.cpp | diff "$work/new.txt" -
else
  echo "clang is not installed: its layout was not compared"
fi

# R1: struct_size first, but for the frozen four and the note's own header.
awk '$2 != "=" && !seen[$1]++ && $2 != "struct_size" &&
  $1 !~ /^titan_(str|value|attribute|note_header)$/ {
    print "abi rule R1: " $1 " starts with " $2
    bad = 1
  }
  END {exit bad}' "$work/new.txt"
# R3: only fixed-width integers, double and pointers as fields.
awk '$2 != "=" && $5 ~ /^(enum|bool|_Bool|long|int|unsigned|size_t|union)$/ {
    print "abi rule R3: " $0
    bad = 1
  }
  END {exit bad}' "$work/new.txt"

compare() { awk -f "$here/compare_layout.awk" "$golden" "$1"; }
compare "$work/new.txt"

# The rule itself, on synthetic changes of the golden list.
expect_break() {
  if compare "$work/changed.txt" > /dev/null; then
    echo "the prefix rule accepted: $1"
    exit 1
  fi
}
sed '/^titan_host_api = /i titan_host_api appended 9999 8 void*' "$golden" \
  > "$work/changed.txt"
compare "$work/changed.txt"
sed '/^titan_host_api log /d' "$golden" > "$work/changed.txt"
expect_break "a removed field"
sed 's/^titan_tensor_spec dtype \([0-9]*\) .*/titan_tensor_spec dtype \1 8 int64_t/' \
  "$golden" > "$work/changed.txt"
expect_break "a retyped field"
awk '/^titan_call num_in /{held=$0; next} {print} held!=""{print held; held=""}' \
  "$golden" > "$work/changed.txt"
expect_break "two fields reordered"
sed 's/^titan_value = .*/titan_value = 48/' "$golden" > "$work/changed.txt"
expect_break "a frozen struct that grew"
sed '/^titan_plugin /d' "$golden" > "$work/changed.txt"
expect_break "a struct that is gone"
echo "layout: $(grep -c ' = ' "$work/new.txt") structs, $(grep -vc ' = ' "$work/new.txt") fields"

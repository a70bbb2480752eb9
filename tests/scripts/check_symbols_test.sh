#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check_symbols accepts a plugin of the C ABI and refuses ones that export more
# or need C++ symbols of LibTorch or of the host.
source "$(dirname "$0")/expect.sh"

build() {
  local name=$1 source=$2
  shift 2
  mkdir -p plugins
  printf '%s\n' "$source" >"$name.cpp"
  c++ -shared -fPIC -fvisibility=hidden "$name.cpp" -o "plugins/$name.so" \
    "-Wl,--version-script=${map}" "$@" ||
    exit 1
}
map=$scripts/../plugin_api/plugin.map
entry='extern "C" __attribute__((visibility("default")))
const void* titan_plugin_entry_v1() { return nullptr; }'

build good "#include <cmath>
#include <string>
extern \"C\" int aoti_torch_get_dim(void*, long*);
double f(double x) { return std::exp(x) + std::to_string(x).size(); }
int g(long* d) { return aoti_torch_get_dim(nullptr, d); }
volatile auto pf = &f; volatile auto pg = &g;
$entry"
expect 0 "1 plugins keep to the ABI" "$scripts/check_symbols" plugins

bad() {
  build "$1" "$2" "${@:4}"
  expect 1 "$3" "$scripts/check_symbols" plugins
  expect 1 "plugins/$1.so" "$scripts/check_symbols" plugins
  rm "plugins/$1.so"
}
echo '{ global: titan_plugin_entry_v1; second; local: *; };' >two.map
map=two.map
bad two_exports "$entry
extern \"C\" __attribute__((visibility(\"default\"))) int second() { return 2; }" \
  "expected titan_plugin_entry_v1 alone, got 'second titan_plugin_entry_v1'"
map=$scripts/../plugin_api/plugin.map
bad no_entry "int f() { return 1; }" "expected titan_plugin_entry_v1 alone"
bad aten "namespace at { int sum(int); }
int f(int x) { return at::sum(x); } volatile auto pf = &f;
$entry" "at::sum(int)"
bad host "namespace titan { int step(int); }
int f(int x) { return titan::step(x); } volatile auto pf = &f;
$entry" "titan::step(int)"
bad c_of_others "extern \"C\" int SSL_new(int);
int f(int x) { return SSL_new(x); } volatile auto pf = &f;
$entry" "SSL_new"
bad library "extern \"C\" unsigned long zlibVersion();
$entry" "undeclared libz" -Wl,--no-as-needed -l:libz.so.1

# A library that the note declares is allowed.
build declared "__attribute__((section(\".note.titan\"), used))
static const char note[] = \"{\\\"needs\\\": [\\\"libz.so.1\\\"]}\";
$entry" -Wl,--no-as-needed -l:libz.so.1
expect 0 "2 plugins keep to the ABI" "$scripts/check_symbols" plugins
expect 2 "no such folder" "$scripts/check_symbols" nowhere
finish

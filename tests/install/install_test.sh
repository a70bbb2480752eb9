#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the build tree ($1), moves it, and runs it from there with an empty
# environment; then builds a plugin against it as a third party would.
source "$(dirname "$0")/../scripts/expect.sh"
build=$1
source_dir=$(cd "$scripts/.." && pwd)

expect 0 "Installing" cmake --install "$build" --prefix "$scratch/first"
mv first second
expect 0 "titan 0." env -i second/bin/titan --version

# Nothing of the installed tree names the folders it was built from.
expect 0 '[$ORIGIN/../lib]' bash -c "readelf -d second/bin/titan | grep RPATH"
for library in libtorch_cpu.so libc10.so libgomp.so.1; do
  if [ ! -e second/lib/$library ]; then continue; fi
  expect 0 "second/bin/../lib/$library" \
    bash -c "env -i ldd second/bin/titan | sed 's#$scratch/##'"
done
# Plugins are the very bytes that were built: the host checks their hash.
for plugin in second/lib/titan/plugins/*.so; do
  if [ ! -e "$plugin" ]; then continue; fi
  expect 0 "" cmp "$plugin" "$build/plugins/$(basename "$plugin")"
done

expect 0 "Generating done" cmake -S "$source_dir/tests/install/plugin" -B acme \
  -G Ninja "-DCMAKE_PREFIX_PATH=$scratch/second" -DCMAKE_BUILD_TYPE=Release
expect 0 "Linking" cmake --build acme
expect 0 "1 plugins keep to the ABI" "$scripts/check_symbols" acme
expect 0 "lib/titan/plugins/libacme_nothing.so" \
  cmake --install acme --prefix "$scratch/third"
finish

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

# It trains its own recipe from another folder, offline where the kernel lets us.
offline=()
if unshare -rn true 2>/dev/null; then offline=(unshare -rn); fi
mkdir elsewhere
cd elsewhere || exit 1
expect 0 "final: step=2" ${offline[@]+"${offline[@]}"} env -i HOME="$scratch" \
  ../second/bin/titan train \
  ../second/share/titan/configs/llama3_debug_tinyshakespeare.yaml \
  --set training.steps=2 --set schedule.warmup_steps=1 \
  --set training.threads=1 --set training.seq_len=64 \
  --set training.tokens_per_microbatch=64 --set validation.batches=1 \
  --set generate.max_tokens=4
expect 0 "model.safetensors" ls runs/llama3_debug_tinyshakespeare/hf
cd ..

# What plugins link is found in the tree.
if [ -e second/lib/titan/plugins/libtitan_parquet.so ]; then
  expect 0 "second/bin/../lib/libarrow.so" env -i HOME="$scratch" LD_DEBUG=libs \
    second/bin/titan data prepare --use titan.parquet --out prepared \
    "$source_dir/tests/unit/plugins/datasets/parquet/data/codec_zstd.parquet"
fi

expect 0 "Generating done" cmake -S "$source_dir/tests/install/plugin" -B acme \
  -G Ninja "-DCMAKE_PREFIX_PATH=$scratch/second" -DCMAKE_BUILD_TYPE=Release
expect 0 "Linking" cmake --build acme
expect 0 "1 plugins keep to the ABI" "$scripts/check_symbols" acme
expect 0 "lib/titan/plugins/libacme_nothing.so" \
  cmake --install acme --prefix "$scratch/third"
finish

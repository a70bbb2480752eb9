#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dataset_test.sh BUILD: examples/dataset in the hands of a stranger (case
# UX-02). From an installed tree, with an empty environment: the README's line
# and CMake build it, and a recipe trains on it, mixed with text, stopped,
# resumed, its bad records skipped or refused by place.
source "$(dirname "$0")/../scripts/expect.sh"
build=$1
source_dir=$(cd "$scripts/.." && pwd)
TITAN=$scratch/titan

expect 0 "Installing" cmake --install "$build" --prefix "$TITAN"
cp -r "$source_dir/examples/dataset" acme
mkdir -p acme/build home
cd acme || exit 1
alone() { env -i PATH=/usr/bin:/bin HOME="$scratch/home" "$@"; }
titan() { alone "$TITAN/bin/titan" "$@"; }

# The README's line, without a word from the compiler.
eval "alone $(grep '^g++' README.md)" >compiler.txt 2>&1
expect 0 "" cmp compiler.txt /dev/null
expect 0 "usable" titan plugin inspect "$PWD/build/libacme_fasta.so"
expect 0 "1 plugins keep to the ABI" "$scripts/check_symbols" build

cd "$scratch" || exit 1
expect 0 'sp|P68871|HBB_HUMAN' titan data inspect acme/proteins.yaml --rows 12
expect 0 '"step":20' titan train acme/proteins.yaml --json
losses() {
  titan train acme/proteins.yaml --json --set run_folder="$1" "${@:2}" \
    2>train.log | grep '"step":' | grep -o '"step":[0-9]*,"loss":[0-9.]*'
}
# Straight through, and stopped at 8 and 13: the same losses.
save=(--set checkpoint.enabled=true --set checkpoint.interval=8)
losses straight >straight.txt
losses stopped "${save[@]}" --set training.steps=8 >stopped.txt
losses stopped "${save[@]}" --set training.steps=13 >>stopped.txt
losses stopped "${save[@]}" >>stopped.txt
expect 0 "" cmp straight.txt stopped.txt
expect 0 "20" wc -l straight.txt
# Bytes start at ln 256 = 5.5 or more; measured after 20 steps: 4.1.
expect 0 "falls" awk -F: 'NR == 1 {first = $NF} {last = $NF}
  END {if (first > 5 && last < 4.6) print "falls"; else print first, last}' \
  straight.txt

# A header without a sequence, by policy.
printf '>a\nAAAA\n>b\n>c\nCCCC\n' >acme/broken.fa
expect 2 "broken.fa: sequence 1: [data] no sequence behind the header" \
  titan train acme/proteins.yaml --set run_folder=broken
expect 0 "final: step=20" titan train acme/proteins.yaml \
  --set run_folder=broken --set data.on_bad_line=skip
# An option that the plugin does not have, and a dataset that nobody has.
expect 2 "data.sources[0].config.header] unknown key" titan train \
  acme/proteins.yaml --set 'data.sources=[{use: acme.fasta, files: [acme], config: {header: true}}]'
expect 2 "Did you mean acme.fasta?" titan train \
  acme/proteins.yaml --set data.sources=[] --set data.use=acme.fastq

# One that takes the name of a built-in dataset is in nobody's way.
mkdir clash
sed 's/"acme.fasta"/"text"/' acme/fasta.cpp >clash/fasta.cpp
(cd clash && mkdir build && eval "alone $(grep '^g++' ../acme/README.md)")
expect 0 "usable" titan plugin inspect "$PWD/clash/build/libacme_fasta.so"
rm acme/broken.fa
expect 0 "final: step=20" titan train acme/proteins.yaml \
  --plugin-path clash/build --set run_folder=clash

# Prepared once, for use: tokens.
expect 0 "of 3 documents in 1 files" titan data prepare acme --out prepared \
  --use acme.fasta --config '{with_header: true}' --plugin-path acme/build
expect 2 "[header] unknown key" titan data prepare acme --out other --use acme.fasta \
  --config '{header: true}' --plugin-path acme/build

# CMake, as the README has it.
rm -r acme/build
cd acme || exit 1
expect 0 "Generating done" alone cmake -S . -B build \
  "-DCMAKE_PREFIX_PATH=$TITAN"
expect 0 "Built target acme_fasta" alone cmake --build build
expect 0 "usable" titan plugin inspect "$PWD/build/libacme_fasta.so"
finish

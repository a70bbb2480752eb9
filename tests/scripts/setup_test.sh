#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/setup, run on small wheels that a stand-in for pip serves: it installs
# once, then does nothing; damage anywhere is seen and mended or refused.
source "$(dirname "$0")/expect.sh"

mkdir -p scripts bin served
cp "$scripts"/setup "$scripts"/debian_packages.txt scripts/
export TITAN_CACHE=$scratch/cache
unset TITAN_LIBTORCH

# Wheels are zip files; cmake packs them on any machine that builds Titan.
pack() {
  local wheel=$1
  shift
  cmake -E tar cf "served/$wheel" --format=zip "$@" || exit 1
}
put torch/include/torch/headeronly/version.h '#define TORCH_VERSION_MAJOR 2' \
  '#define TORCH_VERSION_MINOR 11'
for library in libtorch_cpu.so libc10.so libgomp.so.1 libtorch_cuda.so \
  libtorch_python.so libtorch_nvshmem.so libshm.so; do
  put "torch/lib/$library" "$library"
done
put torch/version.py "__version__ = '2.11.0'"
put nvidia/cu13/lib/libcudart.so.13 cudart
put nvidia/cu13/other/libcupti.so.13 cupti
pack torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl torch
pack nvidia_cuda_runtime-13.0.96-py3-none-x.whl nvidia/cu13/lib
pack nvidia_cuda_cupti-13.0.85-py3-none-x.whl nvidia/cu13/other
hash_of() { sha256sum served/"$1"-* | cut -d' ' -f1; }
put scripts/libtorch_wheels.txt \
  "2.11.0 torch 2.11.0 $(hash_of torch)" \
  "2.11.0 nvidia-cuda-runtime 13.0.96 $(hash_of nvidia_cuda_runtime)" \
  "2.11.0 nvidia-cuda-cupti 13.0.85 $(hash_of nvidia_cuda_cupti)"

put pyarrow/include/parquet/arrow/reader.h 'namespace parquet {}'
for library in libarrow.so.2600 libparquet.so.2600 libarrow_flight.so.2600; do
  put "pyarrow/$library" "$library"
done
pack pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl pyarrow
put scripts/optional_wheels.txt "parquet pyarrow 26.0.1 $(hash_of pyarrow)"

# The stand-in for `python3 -m pip download ... --dest DIR NAME==VERSION`.
put bin/python3 '#!/usr/bin/env bash' \
  'if [ -e no_pip ]; then exit 1; fi' \
  'if [ "$3" = --version ]; then echo pip; exit; fi' \
  'while [ "$1" != --dest ]; do shift; done' \
  'echo "$3" >>downloads.log' \
  'if [ -e no_network ]; then echo "no route" >&2; exit 1; fi' \
  'wanted=${3//-/_}; cp served/"${wanted/==/-}"-*.whl "$2"'
chmod +x bin/python3
export PATH=$scratch/bin:$PATH
setup() { scripts/setup --no-packages "$@"; }
downloads() { if [ -f downloads.log ]; then wc -l <downloads.log; else echo 0; fi; }
installed=cache/libtorch-2.11.0

touch no_pip
expect 2 "pip is missing" setup
rm no_pip
touch no_network
expect 2 "torch 2.11.0 could not be downloaded" setup
expect 1 "" test -e $installed
rm no_network downloads.log

expect 0 "downloading torch 2.11.0" setup
expect 0 "3" downloads
expect 0 "libc10.so
libcudart.so.13
libcupti.so.13
libgomp.so.1
libtorch_cpu.so" ls $installed/lib
expect 1 "" test -e $installed/lib/libtorch_cuda.so
expect 1 "" test -e $installed/lib/libshm.so
expect 0 "version.h" ls $installed/include/torch/headeronly

# Nothing to do: no network, one line.
touch no_network no_pip
expect 0 "setup: ready" setup
expect 0 "3" downloads
expect 0 "setup: ready" env HOME=/nowhere scripts/setup --no-packages

# Half an installation is replaced from the cached wheels.
rm $installed/lib/libc10.so
expect 0 "replacing an incomplete" setup
expect 0 "libc10.so" cat $installed/lib/libc10.so
rm $installed/inventory.txt
expect 0 "unpacking into" setup
echo "torch of another time" >$installed/inventory.txt
expect 0 "unpacking into" setup
# A library that a person added is no damage.
echo more >$installed/lib/libtorch_cuda.so
expect 0 "setup: ready" setup
expect 0 "more" cat $installed/lib/libtorch_cuda.so
rm no_network no_pip

# A damaged wheel is fetched anew, when it is needed.
for wheel in cache/downloads/torch-*; do echo x >"$wheel"; done
expect 0 "setup: ready" setup
rm -r $installed
expect 0 "is damaged: fetching it anew" setup
expect 0 "4" downloads

# A download that is another file is refused and leaves nothing behind.
rm -r $installed cache/downloads
echo x >>served/nvidia_cuda_cupti-13.0.85-py3-none-x.whl
expect 2 "nvidia-cuda-cupti 13.0.85 is not the file" setup
expect 1 "" test -e $installed
expect 0 "2" bash -c 'ls cache/downloads | wc -l'

# Arrow comes where it is asked for, once; the rest of pyarrow stays away.
export TITAN_LIBTORCH=$scratch/torch
put torch/lib/libtorch_cpu.so libtorch_cpu.so
rm -f downloads.log
touch no_network
expect 2 "pyarrow 26.0.1 could not be downloaded" setup --with parquet
expect 0 "setup: ready" setup
rm no_network
expect 0 "downloading pyarrow 26.0.1" setup --with parquet
expect 0 "libarrow.so.2600
libparquet.so.2600" ls cache/arrow-26.0.1/lib
expect 0 "reader.h" ls cache/arrow-26.0.1/include/parquet/arrow
touch no_network
expect 0 "setup: ready" setup --with parquet
rm cache/arrow-26.0.1/lib/libarrow.so.2600
expect 0 "replacing an incomplete" setup --with parquet
rm no_network
expect 2 "--with: expected parquet, got 'hdf5'" setup --with hdf5
unset TITAN_LIBTORCH

# TITAN_LIBTORCH replaces all that, after a look at its version.
export TITAN_LIBTORCH=$scratch/torch
expect 0 "setup: ready" setup
sed -i 's/MINOR 11/MINOR 16/' torch/include/torch/headeronly/version.h
expect 2 "expected 2.11 to 2.15, got 2.16" setup
export TITAN_LIBTORCH=$scratch/nowhere
expect 2 "is not a LibTorch" setup
export TITAN_LIBTORCH=$scratch/torch
sed -i 's/MINOR 16/MINOR 15/' torch/include/torch/headeronly/version.h

# Debian packages: without root or sudo it names them; apt-get gets the list.
put bin/dpkg-query '#!/usr/bin/env bash' \
  'for p in "${@:4}"; do case $p in mold|ninja-build) ;;' \
  'cmake) echo "cmake $(cat cmake_version) install ok installed" ;;' \
  '*) echo "$p 99:1 install ok installed" ;; esac; done' \
  'if [ -e apt.log ]; then' \
  'echo "mold 1.10.1+dfsg-1 install ok installed"' \
  'echo "ninja-build 1.11.1-2 install ok installed"; fi'
put bin/id '#!/bin/sh' 'cat user_id'
put bin/sudo '#!/bin/sh' 'exit 1'
put bin/apt-get '#!/bin/sh' 'echo "$*" >>apt.log'
chmod +x bin/*
echo 3.25.1-1 >cmake_version
echo 1000 >user_id
expect 2 "As root: apt-get install ninja-build mold" scripts/setup </dev/null
echo 0 >user_id
expect 0 "installing Debian packages: ninja-build mold" scripts/setup
expect 0 "--no-install-recommends ninja-build mold" cat apt.log
expect 0 "setup: ready" scripts/setup
echo 3.18.4-2 >cmake_version
expect 2 "packages are too old for Titan" scripts/setup
expect 2 "unknown argument: got '--chekcs'" scripts/setup --chekcs
finish

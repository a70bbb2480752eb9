#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugin shown in the documents is the file that is compiled and run here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
for page in docs/plugins.md README.md; do
  sed -n '/<!-- swiglu.cpp -->/,/^```$/p' "$root/$page" |
    sed '1,2d;$d' | diff - "$root/tests/abi/example/swiglu.cpp"
  echo "$page shows tests/abi/example/swiglu.cpp"
done

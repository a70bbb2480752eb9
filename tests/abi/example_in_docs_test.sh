#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plugin shown in docs/plugins.md is the file that is compiled and run here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
sed -n '/<!-- swiglu.cpp -->/,/^```$/p' "$root/docs/plugins.md" |
  sed '1,2d;$d' | diff - "$root/tests/abi/example/swiglu.cpp"
echo "docs/plugins.md shows tests/abi/example/swiglu.cpp"

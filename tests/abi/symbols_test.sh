#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Case PLG-09. symbols_test.sh DIR: the plugins of DIR keep to the ABI's symbols, and their two
# ELF notes survive strip.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
"$root/scripts/check_symbols" "$folder"
for plugin in "$folder"/*.so; do
  strip -s -o "$stripped" "$plugin"
  notes=$(readelf -nW "$stripped" | grep -c 'TITAN ' || true)
  [[ $notes == 2 ]] || {
    echo "$plugin: expected 2 TITAN notes after strip, got $notes"
    exit 1
  }
done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check_tour fails when the tour misses a file, holds a lost one, or a file has
# no head or no heading; write_tour mends what can be mended.
source "$(dirname "$0")/expect.sh"

licence='// SPDX-License-Identifier: BSD-3-Clause'
put docs/tour.md '# Tour' '<!-- files: core/op -->' '<!-- end -->' 'Prose.'
put core/op/slot.h "$licence" '// One call site of an op. More.' '#pragma once'
put core/op/slot.cpp "$licence" '#include "core/op/slot.h"'
expect 1 'run scripts/write_tour' "$scripts/check_tour" .
expect 0 '1 files' "$scripts/write_tour" .
expect 0 '- `core/op/slot.{h,cpp}`: One call site of an op' cat docs/tour.md
expect 0 'Prose.' cat docs/tour.md
expect 0 '1 files on the tour' "$scripts/check_tour" .

put core/op/new.cpp "$licence" '// Something new.'
expect 1 '+- `core/op/new.cpp`: Something new' "$scripts/check_tour" .
"$scripts/write_tour" . >/dev/null
rm core/op/new.cpp
expect 1 '-- `core/op/new.cpp`: Something new' "$scripts/check_tour" .
"$scripts/write_tour" . >/dev/null
expect 0 '1 files on the tour' "$scripts/check_tour" .

put core/op/bare.cpp "$licence" 'int x;'
expect 1 'no head comment in core/op/bare.cpp' "$scripts/check_tour" .
rm core/op/bare.cpp
put core/mesh/mesh.cpp "$licence" '// The mesh.'
expect 1 'no heading for core/mesh/mesh.cpp' "$scripts/check_tour" .
finish

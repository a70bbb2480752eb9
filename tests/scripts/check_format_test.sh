#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check_format fails on layout, on a missing licence line and on non-ASCII.
source "$(dirname "$0")/expect.sh"
if ! command -v clang-format-14 >/dev/null; then
  echo "SKIPPED: clang-format-14 is not installed (scripts/setup --checks)"
  exit 0
fi

cp "$scripts/../.clang-format" .
licence='// SPDX-License-Identifier: BSD-3-Clause'
put core/a.cpp "$licence" 'int a() {' '  return 1;' '}'
put scripts/run '#!/usr/bin/env bash' '# SPDX-License-Identifier: BSD-3-Clause'
expect 0 "1 sources and 1 scripts in form" "$scripts/check_format" .

put core/b.cpp "$licence" 'int  b( ){return 1;}'
expect 1 "core/b.cpp:2" "$scripts/check_format" .
put core/b.cpp 'int b();'
expect 1 "core/b.cpp:1: licence line is missing" "$scripts/check_format" .
put core/b.cpp "$licence" $'// \xc3\xa9'
expect 1 "not ASCII" "$scripts/check_format" .
rm core/b.cpp
put scripts/go '#!/usr/bin/env bash' 'true'
expect 1 "scripts/go:2: licence line is missing" "$scripts/check_format" .
rm scripts/go

# A good run leaves a stamp; what changes later is looked at again.
mkdir build
expect 0 "in form" "$scripts/check_format" .
put core/a.cpp "$licence" 'int  a( ){return 1;}'
touch -d '+2 seconds' core/a.cpp
expect 1 "core/a.cpp:2" "$scripts/check_format" .
finish

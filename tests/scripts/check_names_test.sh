#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check_names fails on empty names, reminders and paths of one machine.
source "$(dirname "$0")/expect.sh"

put core/plugin/shared_library.cpp 'class SharedLibrary {};' \
  '// The base of the mesh; reads network/root.txt and build/work/list.'
expect 0 "1 files have names" "$scripts/check_names" .

bad() {
  put "$1" "$2"
  expect 1 "$3" "$scripts/check_names" .
  rm "$1"
}
bad core/op/string_utils.cpp '' "core/op/string_utils.cpp"
bad core/common/shape.h '' "core/common/shape.h"
bad core/op/shape_helper.h '' "file names above"
bad core/op/a.h 'class PluginManager;' "core/op/a.h:1:class PluginManager"
bad core/op/a.h 'struct OptionsBase {};' "type names above"
bad core/op/a.cpp '// TODO: the backward' "reminders"
bad docs/a.md 'Do FIXME this' "reminders"
bad docs/a.md 'cd /work/titan' "path of one machine"
bad core/op/a.cpp 'open("/root/x")' "path of one machine"
bad docs/a.md 'see /home/somebody/titan' "path of one machine"
expect 0 "1 files have names" "$scripts/check_names" .
finish

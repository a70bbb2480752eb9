#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# approve shows the difference and turns received text into approved text.
source "$(dirname "$0")/expect.sh"

put help.approved.txt old
put help.received.txt new
expect 0 "+new" "$scripts/approve" --list help.received.txt
expect 0 "old" cat help.approved.txt
expect 0 "1 texts accepted" "$scripts/approve" help.received.txt
expect 0 "new" cat help.approved.txt
expect 1 "" test -e help.received.txt
put first.received.txt fresh
expect 0 "1 texts accepted" "$scripts/approve" first.received.txt
expect 0 "fresh" cat first.approved.txt
expect 2 "expected an existing *.received.txt" "$scripts/approve" help.approved.txt
finish

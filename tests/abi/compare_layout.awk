# SPDX-License-Identifier: BSD-3-Clause
# awk -f compare_layout.awk golden new: the prefix rule. Old fields must be the
# first fields of the new struct, with the same offset, size and type; more may
# follow, unless the struct is frozen. Prints each break; exit 1 if any.

BEGIN {
  split("titan_str titan_value titan_attribute titan_error", names, " ")
  for (i in names) is_frozen[names[i]] = 1
}

function fail(message) {
  print "abi layout: " message
  failed = 1
}

$2 == "=" {
  if (FNR == NR) old_size[$1] = $3
  else new_size[$1] = $3
  next
}

FNR == NR { old[$1, ++old_count[$1]] = $0; next }
{ new[$1, ++new_count[$1]] = $0 }

END {
  for (name in old_size) {
    if (!(name in new_size)) {
      fail(name " is gone")
      continue
    }
    for (i = 1; i <= old_count[name]; ++i)
      if (old[name, i] != new[name, i])
        fail("expected \"" old[name, i] "\", got \"" new[name, i] "\"")
    if (name in is_frozen && old_size[name] != new_size[name])
      fail(name " is frozen: expected size " old_size[name] ", got " \
           new_size[name])
  }
  exit failed
}

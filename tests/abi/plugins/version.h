/* SPDX-License-Identifier: BSD-3-Clause */
/* Exported names that another plugin has too: each must see its own. */
#include <string.h>
static int counter;
EXPORT int version(void) {
  return VERSION;
}
EXPORT int shared_counter = 10 * VERSION;
static const void* interface_of(titan_str id) {
  static int seen[3];
  (void)id;
  seen[0] = version();
  seen[1] = ++counter;
  seen[2] = ++shared_counter;
  return seen;
}
#define BEFORE_RETURN out->get_interface = interface_of

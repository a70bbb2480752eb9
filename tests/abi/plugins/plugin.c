/* SPDX-License-Identifier: BSD-3-Clause */
/* One source for the good plugin and most bad ones: CMake builds it once per
 * name with the definitions that make it so. */
#include "planner.h"

#ifndef NAME
#define NAME "test.good"
#endif
#ifndef ID
#define ID NAME ".planner"
#endif
#ifndef TABLE_ID
#define TABLE_ID ID
#endif
#ifndef MAJOR
#define MAJOR 1
#endif
#ifndef LEAST_MINOR
#define LEAST_MINOR 0
#endif
#ifndef MORE
#define MORE "\"torch_target\":null,\"needs\":[],"
#endif

#define EXPANDED(name, id, major, built, least, more) \
  MANIFEST(name, id, major, built, least, more)

#ifndef NO_NOTE
MANIFEST_NOTE(EXPANDED(NAME, ID, MAJOR, LEAST_MINOR, LEAST_MINOR, MORE));
HEADER_NOTE(MAJOR, LEAST_MINOR, LEAST_MINOR);
#endif

COMPONENT(TABLE_ID);

#ifdef EXTRA
#include EXTRA
#endif

#ifndef BEFORE_RETURN
#define BEFORE_RETURN
#endif

#ifndef NO_ENTRY
EXPORT int32_t titan_plugin_entry_v1(const titan_host_api* host,
                                     titan_plugin* out,
                                     titan_error* error) {
  (void)host, (void)error;
  FILL(out, NAME);
  BEFORE_RETURN;
  return 0;
}
#endif

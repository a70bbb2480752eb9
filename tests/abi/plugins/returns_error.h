/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
static int32_t fail(titan_error* error) {
  strcpy(error->message, "no licence for acme");
  return error->code = 601;
}

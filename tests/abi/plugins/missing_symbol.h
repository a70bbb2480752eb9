/* SPDX-License-Identifier: BSD-3-Clause */
/* Links what nothing defines. */
int acme_function_that_nobody_defines(void);
EXPORT int call_acme(void) {
  return acme_function_that_nobody_defines();
}

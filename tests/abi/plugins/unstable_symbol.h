/* SPDX-License-Identifier: BSD-3-Clause */
/* at::empty(int) by its mangled name, as a plugin that includes ATen links. */
int at_empty(int) __asm__("_ZN2at5emptyEi");
EXPORT int acme_empty(void) {
  return at_empty(1);
}

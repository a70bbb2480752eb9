/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin's note written by hand, in plain C: the test plugins must not depend
 * on the SDK, which is itself under test, and most of them lie on purpose. */
#ifndef TITAN_TESTS_NOTE_H_
#define TITAN_TESTS_NOTE_H_

#include <titan/abi.h>

#define TEXT(...) #__VA_ARGS__

/* One ELF note with `json` as its content. */
#define MANIFEST_NOTE(json)                                            \
  __attribute__((                                                      \
      section(".note.titan"), aligned(4), used)) static const struct { \
    uint32_t name_size, content_size, type;                            \
    char name[8];                                                      \
    char content[sizeof(json)];                                        \
  } manifest_note = {                                                  \
      6, sizeof(json) - 1, TITAN_NOTE_TYPE_MANIFEST, "TITAN", json}

#define HEADER_NOTE(major, minor_built, minor_min)                     \
  __attribute__((                                                      \
      section(".note.titan"), aligned(4), used)) static const struct { \
    uint32_t name_size, content_size, type;                            \
    char name[8];                                                      \
    uint32_t magic, abi_major, abi_minor_built, abi_minor_min;         \
    uint32_t torch_target[2], reserved[2];                             \
  } header_note = {6,                                                  \
                   32,                                                 \
                   TITAN_NOTE_TYPE_HEADER,                             \
                   "TITAN",                                            \
                   TITAN_NOTE_MAGIC,                                   \
                   major,                                              \
                   minor_built,                                        \
                   minor_min,                                          \
                   {0, 0},                                             \
                   {0, 0}}

#define STR(words) \
  { words, sizeof(words) - 1 }

#define EXPORT __attribute__((visibility("default")))

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.storage/1: where checkpoints lie. Objects under keys, as object
 * stores have them: no rename, no folders, a write that appears whole or not at
 * all. Keys are UTF-8 with '/' between parts, none at either end, no empty
 * part, no "." or "..". The storage that is built in is `file`. */
#ifndef TITAN_ABI_STORAGE_H_
#define TITAN_ABI_STORAGE_H_

#include "host.h"
#include "types.h"

/* Receives the names directly below a key. */
typedef struct titan_storage_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  /* `name`: one part, without '/'. has_children: 1 when it is a prefix of other
   * keys, 0 when it is an object. */
  void (*add)(void* self, titan_str name, int32_t has_children);
} titan_storage_sink;

/* [thread: any, also several at once, for one object], except that one writer
 * is used by one thread at a time. */
typedef struct titan_storage_table {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*);
  /* A writer of the object `key`. What was under the key stays until finish. */
  int32_t (*open_writer)(titan_object*,
                         titan_str key,
                         titan_object** writer,
                         titan_error*);
  int32_t (*append)(titan_object* writer,
                    const void* bytes,
                    uint64_t size,
                    titan_error*);
  /* Returns when the object is durable and readers see it. */
  int32_t (*finish)(titan_object* writer, titan_error*);
  /* Without finish: nothing is left of the object. */
  void (*close_writer)(titan_object* writer);
  /* Bytes of the object; -1 in `out` when there is none. */
  int32_t (*size)(titan_object*, titan_str key, int64_t* out, titan_error*);
  /* Exactly `size` bytes from `offset`; fewer there is an error. */
  int32_t (*read)(titan_object*,
                  titan_str key,
                  uint64_t offset,
                  void* out,
                  uint64_t size,
                  titan_error*);
  /* Sees every finish that came before it. A key with nothing below it has no
   * names. */
  int32_t (*list)(titan_object*,
                  titan_str key,
                  const titan_storage_sink* sink,
                  titan_error*);
  /* An absent object is no error. */
  int32_t (*remove)(titan_object*, titan_str key, titan_error*);
} titan_storage_table;

#endif /* TITAN_ABI_STORAGE_H_ */

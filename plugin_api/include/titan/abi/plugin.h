/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry point and what a plugin says of itself. */
#ifndef TITAN_ABI_PLUGIN_H_
#define TITAN_ABI_PLUGIN_H_

#include "host.h"
#include "types.h"

/* Kinds: "titan.model/1", "titan.kernel/1", "titan.optimizer/1",
 * "titan.parallel/1", "titan.storage/1", "titan.dataset/1",
 * "titan.transform/1". A kind carries its own revision. */
typedef struct titan_component {
  uint32_t struct_size;
  uint32_t flags;
  titan_str kind;
  titan_str id;            /* owner prefix: "acme.rms_norm_sm90" */
  titan_str summary;       /* one line */
  titan_str config_schema; /* JSON Schema subset; empty = no options */
  const void* table;       /* kind-specific, starts with struct_size */
} titan_component;

/* The host sets struct_size to what it knows; the plugin fills that much. All
 * pointers are to static data of the plugin. */
typedef struct titan_plugin {
  uint32_t struct_size;
  uint32_t abi_minor_built;
  uint32_t abi_minor_min;
  uint32_t flags;
  titan_str name;
  titan_str version;
  titan_str vendor;
  const titan_component* const* components;
  uint64_t num_components;
  /* Optional (may be null): "titan.lifecycle/1". */
  const void* (*get_interface)(titan_str id);
} titan_plugin;

/* Pure: no threads, no files, no device, nothing to free; under 100 ms; may be
 * called twice. The major is in the name. */
typedef int32_t (*titan_plugin_entry_fn)(const titan_host_api*,
                                         titan_plugin* out,
                                         titan_error*);

/* The ELF note (section .note.titan, name "TITAN", aligned 4) that the host
 * reads without running code. Type 1: manifest, UTF-8 JSON (docs/plugins.md).
 * Type 2: titan_note_header. */
#define TITAN_NOTE_TYPE_MANIFEST 1
#define TITAN_NOTE_TYPE_HEADER 2
#define TITAN_NOTE_MAGIC 0x4e544954u /* "TITN" */

typedef struct titan_note_header {
  uint32_t magic;
  uint32_t abi_major;
  uint32_t abi_minor_built;
  uint32_t abi_minor_min;
  uint64_t torch_target; /* as titan_host_api.torch_version; 0 = no shim used */
  uint64_t reserved;
} titan_note_header;

#endif /* TITAN_ABI_PLUGIN_H_ */

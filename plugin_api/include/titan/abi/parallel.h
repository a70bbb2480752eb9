/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.parallel/1: a planner. Pure: JSON in, JSON out; no device, no
 * communication. The host validates and executes plans (docs/parallelism.md has
 * both grammars). */
#ifndef TITAN_ABI_PARALLEL_H_
#define TITAN_ABI_PARALLEL_H_

#include "host.h"
#include "types.h"

typedef struct titan_parallel_table {
  uint32_t struct_size;
  uint32_t reserved;
  titan_str phase; /* expert | tensor | context | recompute | pipeline | data */
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*);
  /* `request`: {mesh, model, options, plan so far}. Writes the keys this phase
   * owns. Deterministic: same request, same bytes. */
  int32_t (*plan)(const titan_object*,
                  titan_str request,
                  const titan_text_sink* plan,
                  titan_error*);
} titan_parallel_table;

#endif /* TITAN_ABI_PARALLEL_H_ */

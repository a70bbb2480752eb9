/* SPDX-License-Identifier: BSD-3-Clause */
/* What a module may ask of the host while it computes: the batch, parameters,
 * buffers, other modules, and where losses and metrics go. */
#ifndef TITAN_ABI_CONTEXT_H_
#define TITAN_ABI_CONTEXT_H_

#include "host.h"
#include "types.h"

#define TITAN_MODE_TRAIN 0
#define TITAN_MODE_EVAL 1
#define TITAN_MODE_PREFILL 2
#define TITAN_MODE_DECODE 3

/* During forward. [thread: the rank's] */
typedef struct titan_context_api {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*mode)(titan_context*);
  /* Batch fields: tokens [T], labels [T], loss_weight [T], doc_id [T],
   * cu_seqlens [S+1], positions [T] or [T,3], global_index [T], and named
   * extras (pixel_values, timestep, ...). New reference. */
  int32_t (*batch)(titan_context*,
                   titan_str name,
                   titan_tensor* out,
                   titan_error*);
  int32_t (*has_batch)(titan_context*, titan_str name);
  /* Output of another sequence named in the item's side_inputs. */
  int32_t (*side_input)(titan_context*,
                        titan_str name,
                        titan_tensor* out,
                        titan_error*);
  /* Runs a module (an override may stand in its place). */
  int32_t (*call)(titan_context*,
                  titan_module*,
                  const titan_tensor* in,
                  uint32_t num_in,
                  titan_tensor* out,
                  uint32_t num_out,
                  titan_error*);
  /* The whole parameter in compute dtype (local under tensor parallelism). */
  int32_t (*parameter)(titan_context*,
                       titan_parameter*,
                       titan_tensor* out,
                       titan_error*);
  int32_t (*buffer)(titan_context*,
                    titan_buffer*,
                    titan_tensor* out,
                    titan_error*);
  /* Adds `value` to what the running step leaves in the buffer (see
   * TITAN_BUFFER_...); in training only, once under recompute. */
  int32_t (*accumulate)(titan_context*,
                        titan_buffer*,
                        titan_tensor value,
                        titan_error*);
  /* Adds `sum` / (global count named `normaliser`) to the loss. Counts are of
   * the whole step, over all microbatches and data ranks: "tokens" (valid
   * targets), "all_tokens", "segments" (of cu_seqlens), "microbatches", or a
   * named count of the batch. */
  int32_t (*add_loss)(titan_context*,
                      titan_str name,
                      titan_tensor sum,
                      titan_str normaliser,
                      titan_error*);
  int32_t (*add_metric)(titan_context*,
                        titan_str name,
                        titan_tensor value,
                        titan_error*);
  /* Replaces the value of a persistent buffer; in after_step only. A function
   * of buffers alone, so that every rank gives the same. */
  int32_t (*set_buffer)(titan_context*,
                        titan_buffer*,
                        titan_tensor value,
                        titan_error*);
} titan_context_api;

#endif /* TITAN_ABI_CONTEXT_H_ */

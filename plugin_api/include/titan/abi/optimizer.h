/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.optimizer/1: an update rule. The host owns and shards the state,
 * clips, guards and schedules. */
#ifndef TITAN_ABI_OPTIMIZER_H_
#define TITAN_ABI_OPTIMIZER_H_

#include "host.h"
#include "types.h"

/* Update of an element depends on that element alone: runs on any shard. */
#define TITAN_OPTIMIZER_ELEMENTWISE 1u
/* Needs whole matrices: the host gathers or assigns owners. */
#define TITAN_OPTIMIZER_MATRIX 2u

/* Receives the state tensors of one parameter. */
typedef struct titan_state_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  /* Shape and dtype of a state tensor, zero at the start. num_dims 0 with
   * TITAN_STATE_LIKE_PARAMETER: the parameter's own (local) shape. */
  void (*add)(void* self, const titan_tensor_spec* spec);
} titan_state_sink;

#define TITAN_STATE_LIKE_PARAMETER 256u /* in titan_tensor_spec.flags */

/* One group: parameters with the same hyperparameters. Tensors are borrowed.
 * params and states are updated in place; grads are read-only. lr, step and
 * grad_scale are float64 scalars on the device: step counts from 1; a gradient
 * is multiplied by grad_scale (clipping) before use. */
typedef struct titan_optimizer_call {
  uint32_t struct_size;
  uint32_t num_params;
  uint32_t num_states; /* per parameter */
  uint32_t reserved;
  const titan_tensor* params;
  const titan_tensor* grads;
  const titan_tensor* states; /* [num_params][num_states] */
  titan_tensor lr;
  titan_tensor step;
  titan_tensor grad_scale;
  double lr_multiplier;
  double weight_decay; /* NaN: the optimizer's own */
  const titan_stream* stream;
} titan_optimizer_call;

typedef struct titan_optimizer_table {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_OPTIMIZER_... */
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*);
  int32_t (*describe_state)(const titan_object*,
                            const titan_tensor_spec* parameter,
                            const titan_state_sink* sink,
                            titan_error*);
  int32_t (*step)(titan_object*, const titan_optimizer_call*, titan_error*);
} titan_optimizer_table;

#endif /* TITAN_ABI_OPTIMIZER_H_ */

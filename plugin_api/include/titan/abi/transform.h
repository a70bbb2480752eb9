/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.transform/1: edits the module tree after the model has built it
 * and before anything is planned, so that sharding, optimizers and checkpoints
 * see ordinary parameters. The host's half is the interface titan.editor/1
 * (host get_interface); parts are added with the builder (model.h). */
#ifndef TITAN_ABI_TRANSFORM_H_
#define TITAN_ABI_TRANSFORM_H_

#include "host.h"
#include "model.h"
#include "types.h"

#define TITAN_EDITOR_INTERFACE "titan.editor/1"

/* Why a leaf cannot be adapted; 0 = it can. */
#define TITAN_LEAF_HEAD                                                       \
  1u                       /* the host applies it itself, fused with the loss \
                            */
#define TITAN_LEAF_TIED 2u /* another leaf has a parameter of it, too */
#define TITAN_LEAF_ADAPTED 4u /* another transform has adapted it */

typedef struct titan_leaf_info {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_LEAF_... */
  titan_str fqn;
  titan_str op_id; /* "titan.linear/1" */
  titan_module* module;
  /* Whole shapes, in the op's input order. */
  const titan_parameter_spec* const* parameters;
  titan_parameter* const* handles;
  uint64_t num_parameters;
} titan_leaf_info;

typedef struct titan_leaf_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  void (*add)(void* self, const titan_leaf_info*);
} titan_leaf_sink;

/* The adapter needs first values that follow from those of the leaf: `derive`
 * is called for it. */
#define TITAN_ADAPTER_DERIVES 1u

typedef struct titan_adapter_spec {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_ADAPTER_... */
  /* Runs after the leaf: its inputs are those of the leaf and then the leaf's
   * output (whole, where tensor parallelism sums it); its output stands in
   * that one's place. */
  const titan_module_class* code;
  void* self;
} titan_adapter_spec;

/* [thread: the rank's; in `apply` only] */
typedef struct titan_editor_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Every leaf, in the order of the tree. What is given lives until the next
   * edit. */
  int32_t (*leaves)(titan_builder*, const titan_leaf_sink*, titan_error*);
  /* 1 when the FQN fits the pattern ("layers.*.wq", "**"), else 0; text that
   * is no pattern is an error. */
  int32_t (*matches)(titan_str pattern,
                     titan_str fqn,
                     int32_t* out,
                     titan_error*);
  /* Everything that was added below `leaf` before belongs to the adapter. */
  int32_t (*adapt)(titan_builder*,
                   titan_module* leaf,
                   const titan_adapter_spec*,
                   titan_error*);
  /* The model's own parameters are not trained, whichever was added is. */
  int32_t (*freeze_model)(titan_builder*, titan_error*);
} titan_editor_api;

/* Values of one adapted leaf on one rank, whole: the leaf's own parameters in
 * the op's order, then those of the adapter in the order they were added. */
typedef struct titan_leaf_values {
  uint32_t struct_size;
  uint32_t num_own;
  titan_str fqn;
  titan_module* module;
  const titan_tensor* values;
  uint64_t num_values;
} titan_leaf_values;

typedef struct titan_transform_table {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*); /* after the tree is gone */
  int32_t (*apply)(titan_object*, titan_builder*, titan_error*);
  /* First values of the adapter's parameters that depend on the leaf's:
   * out[i], a new reference, for the adapter's parameter i, or null to leave
   * it. May be null where no adapter says DERIVES. */
  int32_t (*derive)(titan_object*,
                    const titan_leaf_values*,
                    titan_tensor* out,
                    titan_error*);
  /* The leaf's own parameters with the adapter worked in: out[i] for its
   * parameter i, or null where it stays. Null: such leaves cannot be merged. */
  int32_t (*merge)(titan_object*,
                   const titan_leaf_values*,
                   titan_tensor* out,
                   titan_error*);
  /* adapter_config.json. `modules`: JSON list of the adapted modules as the
   * other side names them. Null: adapters of this transform have no file. */
  int32_t (*describe_file)(const titan_object*,
                           titan_str modules,
                           const titan_text_sink*,
                           titan_error*);
  /* Is an adapter_config.json (JSON text) one of this transform as it is
   * configured? An error says what differs. */
  int32_t (*check_file)(const titan_object*, titan_str config, titan_error*);
} titan_transform_table;

#endif /* TITAN_ABI_TRANSFORM_H_ */

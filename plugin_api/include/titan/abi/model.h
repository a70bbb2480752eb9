/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.model/1 and the builder. The host owns the module tree, every
 * parameter and every buffer; the plugin describes them once and then computes,
 * item by item (context.h). */
#ifndef TITAN_ABI_MODEL_H_
#define TITAN_ABI_MODEL_H_

#include "buffer.h"
#include "context.h"
#include "host.h"
#include "types.h"

/* How a parameter starts. Randomness is keyed by (seed, FQN, element index). */
#define TITAN_INIT_ZEROS 0
#define TITAN_INIT_CONSTANT 1     /* mean */
#define TITAN_INIT_NORMAL 2       /* mean, std */
#define TITAN_INIT_TRUNC_NORMAL 3 /* mean, std, cut to [low, high] */
#define TITAN_INIT_UNIFORM 4      /* [low, high) */
#define TITAN_INIT_LOG_UNIFORM 5  /* log of uniform [low, high) */

/* How a tensor-parallel planner may cut a parameter. */
#define TITAN_SHARD_REPLICATE 0
#define TITAN_SHARD_COLUMN 1 /* dim 0: output features, heads */
#define TITAN_SHARD_ROW 2    /* dim 1: input features */
#define TITAN_SHARD_VOCAB 3  /* dim 0: rows of the vocabulary */
#define TITAN_SHARD_EXPERT 4 /* dim 0: experts */

typedef struct titan_parameter_spec {
  uint32_t struct_size;
  int32_t init; /* TITAN_INIT_... */
  titan_str name;
  const int64_t* dims;
  uint32_t num_dims;
  int32_t shard;         /* TITAN_SHARD_... */
  int64_t shard_granule; /* rows that stay together (a head); 1 = none */
  double mean, std, low, high;
} titan_parameter_spec;

/* A call site of a catalogue op. A leaf is a module that consists of one site
 * and its parameters, which follow the activations in the op's input order. */
typedef struct titan_op_spec {
  uint32_t struct_size;
  uint32_t num_parameters;
  titan_str op_id; /* "titan.linear/1" */
  const titan_attribute* attributes;
  uint64_t num_attributes;
  const titan_parameter_spec* const* parameters;
} titan_op_spec;

/* Code of one composite class. `self` is the plugin's and outlives the tree. */
typedef struct titan_module_class {
  uint32_t struct_size;
  uint32_t reserved;
  titan_str name; /* "llama3.attention" */
  int32_t (*forward)(void* self,
                     titan_context*,
                     const titan_tensor* in,
                     uint32_t num_in,
                     titan_tensor* out, /* new references */
                     uint32_t num_out,
                     titan_error*);
  /* May be null. Called on every rank that has the module, once for each step
   * that was taken, when the optimizer is done and buffers hold what the step
   * gave, reduced over ranks: the place to derive a buffer from others (an
   * expert bias from counts) with context `buffer` and `set_buffer`. There is
   * no batch and no gradient. */
  int32_t (*after_step)(void* self, titan_context*, titan_error*);
} titan_module_class;

/* One step of a sequence: a module whose inputs are the carry of the item
 * before (nothing for the first item), then the batch fields of batch_inputs,
 * and whose outputs are its own carry. Side inputs are fetched with context
 * `side_input`: "vision" (a tower with one carry tensor) or
 * "vision.deepstack_0" (sequence and the name of a tensor of its last carry).
 * Towers run before the root, in the order they were declared; a tower may use
 * the outputs of those before it. A carry tensor without
 * TITAN_TENSOR_DIFFERENTIABLE is a constant to what uses it; gradients of a
 * tensor with several users are summed.
 */
typedef struct titan_item_spec {
  uint32_t struct_size;
  uint32_t num_carry;
  const titan_tensor_spec* const* carry; /* what this item passes on */
  const titan_str* side_inputs;          /* outputs of other sequences */
  uint64_t num_side_inputs;
  const titan_str* batch_inputs; /* "tokens": see context `batch` */
  uint64_t num_batch_inputs;
} titan_item_spec;

#define TITAN_OUTPUT_TENSOR 0         /* the last carry is the output */
#define TITAN_OUTPUT_LANGUAGE_MODEL 1 /* logits = head(last carry) */

/* What the root sequence ends in. The host applies the head itself: fused with
 * the loss in training, to the last token only in generation. */
typedef struct titan_output_spec {
  uint32_t struct_size;
  int32_t kind;       /* TITAN_OUTPUT_... */
  titan_module* head; /* a titan.linear/1 leaf */
  double logit_scale; /* 1 = none */
  double logit_cap;   /* cap * tanh(x / cap); 0 = none */
} titan_output_spec;

/* Building, in `build` only. [thread: the rank's] Names become FQNs joined by
 * dots. */
typedef struct titan_builder_api {
  uint32_t struct_size;
  uint32_t reserved;
  titan_module* (*root)(titan_builder*);
  int32_t (*module)(titan_builder*,
                    titan_module* parent,
                    titan_str name,
                    const titan_module_class*,
                    void* self,
                    titan_module** out,
                    titan_error*);
  /* A plain container ("layers"): a name without code. Asking again for the
   * same name gives the same container. */
  int32_t (*container)(titan_builder*,
                       titan_module* parent,
                       titan_str name,
                       titan_module** out,
                       titan_error*);
  int32_t (*leaf)(titan_builder*,
                  titan_module* parent,
                  titan_str name,
                  const titan_op_spec*,
                  titan_module** out,
                  titan_slot** slot,
                  titan_error*);
  /* A parameterless call site inside a module. */
  int32_t (*op)(titan_builder*,
                titan_module* parent,
                titan_str site,
                const titan_op_spec*,
                titan_slot** out,
                titan_error*);
  int32_t (*parameter)(titan_builder*,
                       titan_module* parent,
                       const titan_parameter_spec*,
                       titan_parameter** out,
                       titan_error*);
  /* A buffer of the model: persistent (checkpointed) or a step statistic. */
  int32_t (*buffer)(titan_builder*,
                    titan_module* parent,
                    const titan_tensor_spec*,
                    uint32_t flags,
                    titan_buffer** out,
                    titan_error*);
  /* `alias`'s parameter `name` is `owner`'s parameter of that name: one tensor,
   * counted and stored once, under the owner's FQN. Both are leaves. */
  int32_t (*tie)(titan_builder*,
                 titan_module* owner,
                 titan_module* alias,
                 titan_str name,
                 titan_error*);
  /* "" is the root sequence; another name is a tower whose last carry can be a
   * side input. Asking again for the same name gives the same sequence. */
  int32_t (*sequence)(titan_builder*,
                      titan_str name,
                      titan_sequence** out,
                      titan_error*);
  int32_t (*item)(titan_builder*,
                  titan_sequence*,
                  titan_module*,
                  const titan_item_spec*,
                  titan_error*);
  int32_t (*output)(titan_builder*, const titan_output_spec*, titan_error*);
  /* First values of a buffer (zeros without): its elements in row-major order,
   * copied. size in bytes. */
  int32_t (*initial)(titan_builder*,
                     titan_buffer*,
                     const void* data,
                     uint64_t size,
                     titan_error*);
} titan_builder_api;

typedef struct titan_flavor {
  uint32_t struct_size;
  uint32_t reserved;
  titan_str name;   /* "8B" */
  titan_str config; /* JSON: overrides of the schema's defaults */
} titan_flavor;

/* Checkpoint keys of Hugging Face <-> FQNs, both directions. "{i}" in a pattern
 * stands for a number and is the same on both sides. */
#define TITAN_KEY_IDENTITY 0
#define TITAN_KEY_ROPE_ROWS \
  1 /* rows of heads: half-split <-> adjacent pairs; arg0 = head dim */
#define TITAN_KEY_TRANSPOSE 2 /* last two dims */
#define TITAN_KEY_STACK 3     /* hf {e} indexes dim 0 of the native tensor */
/* native = part arg0 of arg1 equal parts of hf along dim arg2; with num_groups
 * that part of each group, one after the other (q of fused heads) */
#define TITAN_KEY_SPLIT 4
/* hf only: dropped on load, not written; "*" at the end is any rest */
#define TITAN_KEY_IGNORE 5
/* native = hf from arg0 on along dim arg2, where hf has arg1 in all */
#define TITAN_KEY_SLICE 6

typedef struct titan_key_rule {
  uint32_t struct_size;
  int32_t transform; /* TITAN_KEY_... */
  titan_str native;
  titan_str hf;
  int64_t arg0, arg1, arg2;
  int64_t num_groups;    /* of TITAN_KEY_SPLIT: neighbouring, equal; 0 = 1 */
  int32_t is_transposed; /* hf's last two dims are swapped before the rule */
  /* another writer's names: read in place of the native tensor's other rules
   * where a checkpoint has them, never written */
  int32_t is_alternative;
} titan_key_rule;

typedef struct titan_key_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  void (*add)(void* self, const titan_key_rule*);
} titan_key_sink;

typedef struct titan_model_table {
  uint32_t struct_size;
  uint32_t reserved;
  const titan_flavor* const* flavors;
  uint64_t num_flavors;
  const titan_str* hf_model_types; /* "llama": config.json's model_type */
  uint64_t num_hf_model_types;
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*); /* after the tree is gone */
  int32_t (*build)(titan_object*, titan_builder*, titan_error*);
  /* FLOPs of forward + backward per token at this context length (formula of
   * reference: 6 N + attention, no causal halving, no recompute). */
  int32_t (*flops_per_token)(const titan_object*,
                             int64_t seq_len,
                             double* out,
                             titan_error*);
  /* Hugging Face config.json -> this model's config (JSON text), and back. */
  int32_t (*config_from_hf)(const titan_host_api*,
                            const titan_config* hf,
                            const titan_text_sink* config,
                            titan_error*);
  int32_t (*config_to_hf)(const titan_object*,
                          const titan_text_sink* hf,
                          titan_error*);
  int32_t (*describe_keys)(const titan_object*,
                           const titan_key_sink*,
                           titan_error*);
} titan_model_table;

#endif /* TITAN_ABI_MODEL_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host offers every plugin. Tables live as long as the process. */
#ifndef TITAN_ABI_HOST_H_
#define TITAN_ABI_HOST_H_

#include "types.h"

/* Tensors. [thread: any] Handles returned through `out` are new references,
 * given back with `release`. */
typedef struct titan_tensor_api {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*retain)(titan_tensor, titan_tensor* out, titan_error*);
  void (*release)(titan_tensor);
  int64_t (*num_dims)(titan_tensor);
  const int64_t* (*sizes)(titan_tensor);   /* borrowed from the tensor */
  const int64_t* (*strides)(titan_tensor); /* borrowed from the tensor */
  int64_t (*num_elements)(titan_tensor);
  int32_t (*dtype)(titan_tensor);
  int32_t (*device_type)(titan_tensor);
  int32_t (*device_index)(titan_tensor);
  int32_t (*is_contiguous)(titan_tensor);
  /* Borrowed; null for a tensor without storage (fake run). */
  void* (*data)(titan_tensor);
  /* Uninitialised, contiguous, on `like`'s device when dtype/device are those
   * of `like` (dtype TITAN_DTYPE_COMPUTE: like's dtype). */
  int32_t (*empty)(titan_tensor like,
                   int32_t dtype,
                   const int64_t* dims,
                   uint32_t num_dims,
                   titan_tensor* out,
                   titan_error*);
} titan_tensor_api;

/* Configuration given to `create`: the component's `config` section after
 * schema defaults. Paths are dotted ("rope.factor"). Every read is recorded: a
 * key that nobody reads is an error of the recipe. */
typedef struct titan_config_api {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*has)(const titan_config*,
                 titan_str path); /* 1, 0; null counts as absent */
  int32_t (*get_int)(const titan_config*,
                     titan_str path,
                     int64_t* out,
                     titan_error*);
  int32_t (*get_double)(const titan_config*,
                        titan_str path,
                        double* out,
                        titan_error*);
  int32_t (*get_bool)(const titan_config*,
                      titan_str path,
                      int32_t* out,
                      titan_error*);
  /* Borrowed until the config is destroyed. */
  int32_t (*get_string)(const titan_config*,
                        titan_str path,
                        titan_str* out,
                        titan_error*);
  /* Length of a list, or number of keys of a map. */
  int32_t (*get_size)(const titan_config*,
                      titan_str path,
                      uint64_t* out,
                      titan_error*);
  /* Canonical JSON of the value at `path` ("" = all). Borrowed likewise. */
  int32_t (*get_json)(const titan_config*,
                      titan_str path,
                      titan_str* out,
                      titan_error*);
} titan_config_api;

/* Ops. A catalogue op is called through a slot (model.h, builder `op`); any
 * ATen op by schema name. Wrong arity or type is an error with text. */
typedef struct titan_op_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* `name` = "aten::add.Tensor". The handle is the host's and lives for ever.
   * [thread: any] */
  int32_t (*aten_resolve)(titan_str name, titan_aten_op** out, titan_error*);
  /* Missing trailing arguments take the schema's defaults. num_results must be
   * the number of returns. Records autograd. */
  int32_t (*aten_call)(titan_aten_op*,
                       const titan_value* args,
                       uint32_t num_args,
                       titan_value* results,
                       uint32_t num_results,
                       titan_error*);
  /* Hot path. Inputs in the op's order, null for an absent optional one;
   * parameters of a leaf are added by the host. Outputs are new references. */
  int32_t (*invoke)(titan_context*,
                    titan_slot*,
                    const titan_tensor* in,
                    uint32_t num_in,
                    titan_tensor* out,
                    uint32_t num_out,
                    titan_error*);
} titan_op_api;

struct titan_builder_api; /* model.h */
struct titan_context_api; /* model.h */

typedef struct titan_host_api {
  uint32_t struct_size;
  uint32_t abi_minor;     /* the negotiated minor: min(host, plugin) */
  uint64_t torch_version; /* LibTorch major << 32 | minor << 16 | patch */
  titan_host* host;
  const titan_tensor_api* tensor;
  const titan_config_api* config;
  const titan_op_api* op;
  const struct titan_builder_api* builder;
  const struct titan_context_api* context;
  /* Optional features by name and revision, "titan.comm/1"; null if absent. */
  const void* (*get_interface)(titan_host*, titan_str id);
  /* level: 0 debug, 1 info, 2 warn, 3 error. [thread: any] */
  void (*log)(titan_host*, int32_t level, titan_str message);
  /* 1 when the run is asked to stop: long loops return early. [thread: any] */
  int32_t (*is_cancelled)(titan_host*);
  /* Runs body(arg, begin, end) over pieces of [begin, end) on the host's
   * intra-op threads; returns when all are done. body must not throw. */
  void (*parallel_for)(titan_host*,
                       int64_t begin,
                       int64_t end,
                       int64_t grain,
                       void (*body)(void* arg, int64_t begin, int64_t end),
                       void* arg);
} titan_host_api;

#endif /* TITAN_ABI_HOST_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that cross the boundary: strings, errors, tensors, op arguments. */
#ifndef TITAN_ABI_TYPES_H_
#define TITAN_ABI_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#define TITAN_ABI_MAJOR 1
#define TITAN_ABI_MINOR 0

/* Same object as LibTorch's AtenTensorHandle (stable ABI). */
typedef struct AtenTensorOpaque* titan_tensor;

/* Opaque objects of the host. */
typedef struct titan_host titan_host;
typedef struct titan_config titan_config;
typedef struct titan_builder titan_builder;
typedef struct titan_module titan_module;
typedef struct titan_parameter titan_parameter;
typedef struct titan_buffer titan_buffer;
typedef struct titan_sequence titan_sequence;
typedef struct titan_slot titan_slot;
typedef struct titan_context titan_context;
typedef struct titan_aten_op titan_aten_op;
/* Opaque object of a plugin: what its `create` made. */
typedef struct titan_object titan_object;

/* Frozen. UTF-8, not terminated; borrowed for the duration of the call unless
 * a function says otherwise. */
typedef struct titan_str {
  const char* data;
  uint64_t size;
} titan_str;

/* Owned by the caller, 1024 bytes, nothing to free. Codes: docs/errors.md. */
typedef struct titan_error {
  uint32_t struct_size;
  int32_t code;
  int32_t native_code; /* errno, cudaError, ncclResult */
  uint32_t line;
  char where[64];
  char message[944];
} titan_error;

/* Receives text produced by the other side. `write` may be called many times;
 * the pieces are concatenated. */
typedef struct titan_text_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  void (*write)(void* self, titan_str piece);
} titan_text_sink;

/* Kinds of titan_value. */
#define TITAN_VALUE_NONE 0
#define TITAN_VALUE_TENSOR 1      /* data: titan_tensor */
#define TITAN_VALUE_INT 2         /* integer; also SymInt and int Scalar */
#define TITAN_VALUE_DOUBLE 3      /* real; also float Scalar */
#define TITAN_VALUE_BOOL 4        /* integer 0 or 1 */
#define TITAN_VALUE_STRING 5      /* data: const char*, size */
#define TITAN_VALUE_INT_LIST 6    /* data: const int64_t*, size */
#define TITAN_VALUE_DOUBLE_LIST 7 /* data: const double*, size */
#define TITAN_VALUE_TENSOR_LIST \
  8 /* data: const titan_tensor*, size; null item = None */
#define TITAN_VALUE_DTYPE 9 /* integer: torch ScalarType code */

/* Frozen. One argument, result or attribute. As a result, TENSOR carries a new
 * reference, and a list's array belongs to the host until the next call of this
 * thread while its tensors are new references. */
typedef struct titan_value {
  int32_t kind;
  int32_t reserved;
  int64_t integer;
  double real;
  const void* data;
  uint64_t size;
} titan_value;

/* Frozen. A named constant bound to an op slot or a leaf. */
typedef struct titan_attribute {
  titan_str name;
  titan_value value;
} titan_attribute;

/* Dtype codes are torch's ScalarType numbers. */
#define TITAN_DTYPE_COMPUTE (-1) /* what the precision policy says */
#define TITAN_DTYPE_U8 0
#define TITAN_DTYPE_I8 1
#define TITAN_DTYPE_I16 2
#define TITAN_DTYPE_I32 3
#define TITAN_DTYPE_I64 4
#define TITAN_DTYPE_F16 5
#define TITAN_DTYPE_F32 6
#define TITAN_DTYPE_F64 7
#define TITAN_DTYPE_BOOL 11
#define TITAN_DTYPE_BF16 15
#define TITAN_DTYPE_F8_E5M2 23
#define TITAN_DTYPE_F8_E4M3 24

#define TITAN_DEVICE_CPU 0
#define TITAN_DEVICE_CUDA 1

/* A symbolic extent: the number of tokens of the microbatch (static per run).
 */
#define TITAN_DIM_TOKENS (-1)
/* An extent of a microbatch that is not the token count (patches, images). */
#define TITAN_DIM_DYNAMIC (-2)

/* Shape and type of a tensor that does not exist yet, or whose data a function
 * may not read. dims are borrowed. */
typedef struct titan_tensor_spec {
  uint32_t struct_size;
  int32_t dtype;
  const int64_t* dims;
  uint32_t num_dims;
  uint32_t flags; /* TITAN_TENSOR_... */
  titan_str name;
  int32_t device_type;
  int32_t device_index;
} titan_tensor_spec;

#define TITAN_TENSOR_DIFFERENTIABLE 1u
#define TITAN_TENSOR_CONTIGUOUS 2u

/* Where work is queued. On the CPU `native` is null. */
typedef struct titan_stream {
  uint32_t struct_size;
  int32_t device_type;
  int32_t device_index;
  uint32_t reserved;
  void* native; /* cudaStream_t */
} titan_stream;

#endif /* TITAN_ABI_TYPES_H_ */

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.kernel/1: an implementation of a catalogue op for a target. */
#ifndef TITAN_ABI_KERNEL_H_
#define TITAN_ABI_KERNEL_H_

#include "host.h"
#include "types.h"

#define TITAN_KERNEL_DETERMINISTIC 1u
#define TITAN_KERNEL_GRAPH_SAFE 2u
#define TITAN_KERNEL_HAS_BACKWARD 4u
#define TITAN_KERNEL_NEEDS_CONTIGUOUS 8u
#define TITAN_KERNEL_BATCH_INVARIANT 16u

/* CPU features, checked against CPUID and the OS state (XGETBV). */
#define TITAN_CPU_AVX2 1ull
#define TITAN_CPU_FMA 2ull
#define TITAN_CPU_AVX512F 4ull
#define TITAN_CPU_AVX512BW 8ull
#define TITAN_CPU_AVX512VL 16ull
#define TITAN_CPU_AVX512DQ 32ull
#define TITAN_CPU_AVX512_BF16 64ull
#define TITAN_CPU_AMX_TILE 128ull
#define TITAN_CPU_AMX_BF16 256ull
#define TITAN_CPU_AMX_INT8 512ull

/* Static: judged before any code of the plugin runs; also in the note. */
typedef struct titan_kernel_match {
  uint32_t struct_size;
  int32_t device_type;
  uint32_t arch_min; /* CUDA: sm number (90); 0 = any */
  uint32_t arch_max;
  uint64_t cpu_features; /* all needed; TITAN_CPU_... */
  uint64_t dtype_mask;   /* 1 << dtype code, of the first float input */
  int32_t priority;      /* plugins 500..899; the recipe alone may go beyond */
  uint32_t flags;        /* TITAN_KERNEL_... */
  titan_str op_id;       /* "titan.rms_norm/1" */
} titan_kernel_match;

/* One call. All tensors are borrowed; inputs are read-only; outputs and saved
 * tensors are allocated by the host with the op's shape function and never
 * alias an input unless the op says so. In backward: `in` as in forward (null
 * where the op does not keep the input), `saved` as written by forward,
 * `grad_out` (null = zero), and `out` = gradients of the inputs, null where the
 * want mask's bit is 0. Backward may be called twice on one saved set. */
typedef struct titan_call {
  uint32_t struct_size;
  uint32_t num_in;
  uint32_t num_out;
  uint32_t num_saved;
  uint32_t num_grad_out;
  uint32_t flags; /* TITAN_CALL_... */
  uint64_t want;  /* backward: bit i = gradient of input i is wanted */
  const titan_tensor* in;
  const titan_tensor* out;
  const titan_tensor* saved;
  const titan_tensor* grad_out;
  const titan_stream* stream;
  const titan_attribute* attributes;
  uint64_t num_attributes;
  uint64_t seed; /* Philox key of (seed, step, slot) */
} titan_call;

#define TITAN_CALL_ACCUMULATE 1u /* backward: add into out */

typedef struct titan_kernel_table {
  uint32_t struct_size;
  uint32_t reserved;
  const titan_kernel_match* match;
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*);
  /* Pure, no allocation, no device work: 0 = refuse, 1..1000 = fitness for
   * these shapes. `reason` (may be null) receives why not. [thread: any] */
  int32_t (*score)(const titan_object*,
                   const titan_tensor_spec* const* in,
                   uint32_t num_in,
                   const titan_attribute* attributes,
                   uint64_t num_attributes,
                   const titan_text_sink* reason);
  /* [thread: step, several ranks at once on one object] */
  int32_t (*forward)(const titan_object*, const titan_call*, titan_error*);
  int32_t (*backward)(const titan_object*, const titan_call*, titan_error*);
} titan_kernel_table;

#endif /* TITAN_ABI_KERNEL_H_ */

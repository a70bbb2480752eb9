/* SPDX-License-Identifier: BSD-3-Clause */
/* Titan's plugin ABI, major 1 (draft), in C11. Rules, checked by
 * tests/abi where a machine can:
 *  R1 `struct_size` first in every growable struct. R2 append only.
 *  R3 fixed-width integers, double and pointers; no enum, bool, bitfield, long,
 *     union, or struct returned by value. R4 no implicit padding.
 *  R5 arrays of growable structs are arrays of pointers. titan_str, titan_value
 *     and titan_attribute are frozen and may be held in arrays.
 *  R6 strings are pointer + length, UTF-8. R7 comments carry thread, ownership.
 *  R9 nothing allocated on one side is freed on the other. R10 no exception,
 *     longjmp or signal handler crosses. R11 a plugin links no host symbol:
 *     everything arrives in titan_host_api. R12 a plugin exports one symbol.
 * Every function that can fail returns 0 or the error's code (also written to
 * the caller's titan_error, text included). */
#ifndef TITAN_ABI_H_
#define TITAN_ABI_H_

#include "abi/context.h"
#include "abi/dataset.h"
#include "abi/host.h"
#include "abi/kernel.h"
#include "abi/model.h"
#include "abi/optimizer.h"
#include "abi/parallel.h"
#include "abi/plugin.h"
#include "abi/storage.h"
#include "abi/transform.h"
#include "abi/types.h"

#endif /* TITAN_ABI_H_ */

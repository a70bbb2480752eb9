// SPDX-License-Identifier: BSD-3-Clause
// Memory of one bucket: the sharded flat buffer that lives always, and the
// whole flat buffer that exists between unshard and release. Releasing empties
// the storage and keeps the StorageImpl, so that views held by autograd become
// valid again when the bucket is gathered anew (no version error, no copy).
//
// The three verbs are dispatcher ops (titan::bucket_unshard, _release,
// _reduce), so that capture, counting and the fake run see them.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/dist/group.h"

namespace titan::parallel {

/// Frees the bytes of `full`'s storage; sizes and strides stay.
void release_storage(const at::Tensor& full);
/// Gives a released storage its bytes back, uninitialised. Nothing when whole.
void restore_storage(const at::Tensor& full);

/// full = the ranks' `shard`s in rank order, in full's dtype. Restores `full`.
void bucket_unshard(const at::Tensor& shard,
                    at::Tensor& full,
                    dist::Group& group);
void bucket_release(at::Tensor& full);
/// out (+)= this rank's part of the sum over ranks of `gradient`.
void bucket_reduce(const at::Tensor& gradient,
                   at::Tensor& out,
                   dist::Group& group);

}  // namespace titan::parallel

// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/bucket_storage.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <titan/error.h>

namespace titan::parallel {
namespace {

// A group crosses the dispatcher as an integer: it outlives every call.
int64_t as_handle(dist::Group& group) {
  return reinterpret_cast<int64_t>(&group);
}
dist::Group& group_of(int64_t handle) {
  return *reinterpret_cast<dist::Group*>(handle);
}

void unshard_kernel(const at::Tensor& shard, at::Tensor& full, int64_t group) {
  restore_storage(full);
  if (group_of(group).size() == 1) {
    full.copy_(shard);
    return;
  }
  const at::Tensor sent = shard.to(full.scalar_type());
  group_of(group).all_gather(full, sent);
}

void release_kernel(at::Tensor& full) {
  release_storage(full);
}

void reduce_kernel(const at::Tensor& gradient, at::Tensor& out, int64_t group) {
  dist::Group& ranks = group_of(group);
  if (ranks.size() == 1) {
    out.add_(gradient);
    return;
  }
  at::Tensor part = at::empty_like(out);
  ranks.reduce_scatter(part, gradient);
  out.add_(part);
}

TORCH_LIBRARY_FRAGMENT(titan, library) {
  library.def("bucket_unshard(Tensor shard, Tensor(a!) full, int group) -> ()");
  library.def("bucket_release(Tensor(a!) full) -> ()");
  library.def(
      "bucket_reduce(Tensor gradient, Tensor(a!) out, int group) -> ()");
}

TORCH_LIBRARY_IMPL(titan, CompositeExplicitAutograd, library) {
  library.impl("bucket_unshard", unshard_kernel);
  library.impl("bucket_release", release_kernel);
  library.impl("bucket_reduce", reduce_kernel);
}

template <typename Signature>
auto find(const char* name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<Signature>();
}

}  // namespace

void release_storage(const at::Tensor& full) {
  c10::StorageImpl* storage = full.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(storage->allocator()->allocate(0));
  storage->set_nbytes(0);
}

void restore_storage(const at::Tensor& full) {
  c10::StorageImpl* storage = full.storage().unsafeGetStorageImpl();
  const auto bytes = static_cast<size_t>(full.numel()) * full.element_size();
  if (storage->nbytes() == bytes) return;
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
}

// Below autograd: gathering rewrites storages that graphs hold views of, which
// must not bump versions nor be recorded.
void bucket_unshard(const at::Tensor& shard,
                    at::Tensor& full,
                    dist::Group& group) {
  static const auto op = find<void(const at::Tensor&, at::Tensor&, int64_t)>(
      "titan::bucket_unshard");
  at::AutoDispatchBelowADInplaceOrView below;
  op.call(shard, full, as_handle(group));
}

void bucket_release(at::Tensor& full) {
  static const auto op = find<void(at::Tensor&)>("titan::bucket_release");
  at::AutoDispatchBelowADInplaceOrView below;
  op.call(full);
}

void bucket_reduce(const at::Tensor& gradient,
                   at::Tensor& out,
                   dist::Group& group) {
  static const auto op = find<void(const at::Tensor&, at::Tensor&, int64_t)>(
      "titan::bucket_reduce");
  at::AutoDispatchBelowADInplaceOrView below;
  op.call(gradient, out, as_handle(group));
}

}  // namespace titan::parallel

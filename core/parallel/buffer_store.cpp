// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/buffer_store.h"

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <titan/error.h>

#include "core/parallel/stage_items.h"

namespace titan::parallel {
namespace {

using module::Buffer;

bool has(const Buffer& buffer, uint32_t flag) {
  return (buffer.flags & flag) != 0;
}

at::Tensor first_value(const Buffer& buffer, at::ScalarType compute) {
  const auto dtype = buffer.dtype == TITAN_DTYPE_COMPUTE
                         ? compute
                         : static_cast<at::ScalarType>(buffer.dtype);
  if (buffer.initial.empty()) return at::zeros(buffer.shape, dtype);
  size_t size = c10::elementSize(dtype);
  for (const int64_t extent : buffer.shape) size *= static_cast<size_t>(extent);
  TITAN_USER_CHECK(buffer.initial.size() == size,
                   "[model ",
                   buffer.fqn,
                   "] initial values: expected ",
                   size,
                   " bytes, got ",
                   buffer.initial.size());
  // from_blob wants a pointer to what it may write; the copy is what lives.
  void* bytes = const_cast<std::byte*>(buffer.initial.data());
  return at::from_blob(bytes, buffer.shape, dtype).clone();
}

// What adding nothing leaves: ranks must agree on it before they reduce.
at::Tensor identity_of(const Buffer& buffer, const at::Tensor& value) {
  if (!has(buffer, TITAN_BUFFER_MAX)) return at::zeros_like(value);
  if (at::isFloatingType(value.scalar_type()))
    return at::full_like(value, -std::numeric_limits<double>::infinity());
  const auto bits = 8 * static_cast<int64_t>(value.element_size());
  return at::full_like(value,
                       std::numeric_limits<int64_t>::min() >> (64 - bits));
}

void reduce(const Buffer& buffer, at::Tensor& pending, dist::Group& group) {
  if (group.size() == 1) return;
  if (has(buffer, TITAN_BUFFER_MAX)) {
    group.all_reduce_max(pending);
  } else {
    group.all_reduce(pending);
  }
}

void check_shape(const BufferStore::Entry& entry,
                 std::string_view verb,
                 const at::Tensor& value) {
  TITAN_USER_CHECK(value.sizes() == entry.value.sizes(),
                   "[model ",
                   entry.buffer->fqn,
                   "] ",
                   verb,
                   ": expected shape ",
                   entry.value.sizes(),
                   ", got ",
                   value.sizes());
}

void merge(const Buffer& buffer, at::Tensor& value, const at::Tensor& more) {
  if (has(buffer, TITAN_BUFFER_MAX)) {
    at::maximum_out(value, value, more);
  } else {
    value.add_(more);
  }
}

}  // namespace

bool BufferStore::Entry::is_changing() const {
  return has(*buffer, TITAN_BUFFER_PERSISTENT | TITAN_BUFFER_STATISTIC);
}

bool BufferStore::Entry::is_saved() const {
  return is_changing() && !has(*buffer, TITAN_BUFFER_UNSAVED);
}

BufferStore::BufferStore(const module::ModuleTree& tree,
                         const std::vector<std::string>& stage_items,
                         at::ScalarType compute) {
  const std::vector<std::string> all_items = item_names(tree);
  for (const auto& buffer : tree.buffers()) {
    const bool is_shared = !is_inside_any(buffer->fqn, all_items);
    if (!is_shared && !is_inside_any(buffer->fqn, stage_items)) continue;
    entries_.push_back(
        {buffer.get(), first_value(*buffer, compute), {}, is_shared});
  }
}

BufferStore::Entry& BufferStore::find(const Buffer& buffer) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.buffer == &buffer;
      });
  TITAN_CHECK(found != entries_.end(),
              "[context] buffer ",
              buffer.fqn,
              " is of another stage");
  return *found;
}

at::Tensor BufferStore::value(const Buffer& buffer) {
  return find(buffer).value;
}

void BufferStore::accumulate(const Buffer& buffer, const at::Tensor& value) {
  at::NoGradGuard no_grad;
  Entry& entry = find(buffer);
  TITAN_USER_CHECK(entry.is_changing(),
                   "[model ",
                   buffer.fqn,
                   "] accumulate: expected a persistent buffer or a statistic, "
                   "got a constant");
  check_shape(entry, "accumulate", value);
  const at::Tensor more = value.detach().to(entry.value.scalar_type());
  if (has(buffer, TITAN_BUFFER_LAST) || !entry.pending.defined()) {
    entry.pending = more.clone();
  } else {
    merge(buffer, entry.pending, more);
  }
}

void BufferStore::set(const Buffer& buffer, const at::Tensor& value) {
  at::NoGradGuard no_grad;
  Entry& entry = find(buffer);
  TITAN_USER_CHECK(has(buffer, TITAN_BUFFER_PERSISTENT),
                   "[model ",
                   buffer.fqn,
                   "] set: expected a persistent buffer, got a ",
                   entry.is_changing() ? "statistic" : "constant");
  check_shape(entry, "set", value);
  entry.value.copy_(value);
}

void BufferStore::discard() {
  for (Entry& entry : entries_) entry.pending = at::Tensor();
}

void BufferStore::commit(const dist::Mesh& mesh) {
  at::NoGradGuard no_grad;
  for (Entry& entry : entries_) {
    if (!entry.is_changing()) continue;
    const Buffer& buffer = *entry.buffer;
    if (has(buffer, TITAN_BUFFER_LAST)) {
      TITAN_USER_CHECK(!entry.is_shared || mesh.size("pp") == 1,
                       "[model ",
                       buffer.fqn,
                       "] a buffer that keeps the last value: expected it "
                       "inside an item under parallel.pp ",
                       mesh.size("pp"),
                       ", got one beside them. Stages would not see it.");
      // Equal on all ranks by its contract: nothing to reduce.
      if (entry.pending.defined()) entry.value.copy_(entry.pending);
      entry.pending = at::Tensor();
      continue;
    }
    at::Tensor added = entry.pending.defined()
                           ? entry.pending
                           : identity_of(buffer, entry.value);
    entry.pending = at::Tensor();
    reduce(buffer, added, mesh.group("dp"));
    if (has(buffer, TITAN_BUFFER_OVER_TENSOR))
      reduce(buffer, added, mesh.group("tp"));
    if (entry.is_shared) reduce(buffer, added, mesh.group("pp"));
    if (has(buffer, TITAN_BUFFER_STATISTIC)) {
      entry.value.copy_(added);
    } else {
      merge(buffer, entry.value, added);
    }
  }
}

}  // namespace titan::parallel

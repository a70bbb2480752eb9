// SPDX-License-Identifier: BSD-3-Clause
// A communicator over one mesh axis, as the rest of core sees it. Behind it is
// a c10d process group: ranks as threads (local), Gloo, or a plugin's fabric.
// Reductions add in rank order in acc(dtype), so `local` and Gloo give the same
// bits. Every verb is collective over the group: all ranks must call it, in the
// same order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace titan::dist {

class Group {
 public:
  virtual ~Group() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// In place: tensor = sum over ranks (max with `all_reduce_max`).
  virtual void all_reduce(at::Tensor& tensor) = 0;
  virtual void all_reduce_max(at::Tensor& tensor) = 0;
  /// out [size * n] = the ranks' `in` [n], concatenated in rank order.
  virtual void all_gather(at::Tensor& out, const at::Tensor& in) = 0;
  /// out [n] = this rank's part of the sum of the ranks' `in` [size * n].
  virtual void reduce_scatter(at::Tensor& out, const at::Tensor& in) = 0;
  virtual void broadcast(at::Tensor& tensor, int64_t root) = 0;
  /// Point to point inside the group; tensors of equal shape and dtype. send
  /// buffers: it never waits for the receiver, so that schedules in which two
  /// stages send to each other cannot deadlock.
  virtual void send(const at::Tensor& tensor, int64_t peer, int64_t tag) = 0;
  virtual void receive(at::Tensor& tensor, int64_t peer, int64_t tag) = 0;
  virtual void barrier() = 0;
  /// Wakes every waiting rank with a DeviceError carrying `reason`.
  virtual void abort(const std::string& reason) = 0;
};

/// The group of one rank: every verb is local.
std::shared_ptr<Group> single_rank_group();

}  // namespace titan::dist

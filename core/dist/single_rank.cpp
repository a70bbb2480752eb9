// SPDX-License-Identifier: BSD-3-Clause
// The group of one rank: sums are identities, so a plan runs unchanged on one
// rank. Point to point has nobody to talk to and is our bug.
#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/dist/group.h"

namespace titan::dist {
namespace {

class SingleRankGroup final : public Group {
 public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  void all_reduce(at::Tensor&) override {}
  void all_reduce_max(at::Tensor&) override {}
  void all_gather(at::Tensor& out, const at::Tensor& in) override {
    out.copy_(in.view_as(out));
  }
  void reduce_scatter(at::Tensor& out, const at::Tensor& in) override {
    out.copy_(in.view_as(out));
  }
  void broadcast(at::Tensor&, int64_t) override {}
  void send(const at::Tensor&, int64_t peer, int64_t) override {
    TITAN_CHECK(false, "[group] send: no rank ", peer, " in a group of one");
  }
  void receive(at::Tensor&, int64_t peer, int64_t) override {
    TITAN_CHECK(false, "[group] receive: no rank ", peer, " in a group of one");
  }
  void barrier() override {}
  void abort(const std::string&) override {}  // nobody waits
};

}  // namespace

std::shared_ptr<Group> single_rank_group() {
  static const std::shared_ptr<Group> group =
      std::make_shared<SingleRankGroup>();
  return group;
}

}  // namespace titan::dist

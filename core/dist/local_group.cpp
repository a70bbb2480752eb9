// SPDX-License-Identifier: BSD-3-Clause
// A collective is two meetings of all ranks. At the first each has put down
// what it brings (verb, shape, dtype, flat tensors); between them each computes
// its part from the others' memory, adding in rank order in acc(dtype); after
// the second nobody reads the others' memory any more. Waiting is a condition
// variable: a spinning rank would take the core that the late rank needs.
#include "core/dist/local_group.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <titan/error.h>

namespace titan::dist {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

at::ScalarType sum_dtype(at::ScalarType dtype) {
  if (dtype == at::kDouble) return at::kDouble;
  if (at::isFloatingType(dtype)) return at::kFloat;
  TITAN_CHECK(at::isIntegralType(dtype, /*includeBool=*/false),
              "[group] sum: expected a floating or integral dtype, got ",
              c10::toString(dtype));
  return at::kLong;
}

at::Tensor flat_of(const at::Tensor& tensor) {
  return tensor.detach().contiguous().view({-1});
}

}  // namespace

// What one rank brings to a collective. `flat` belongs to the rank except
// between the two meetings, when all read it.
struct Offer {
  std::string call;  // "all_reduce (4, 8) Float": equal on all ranks
  at::Tensor flat;
};

struct LocalRun::Exchange {
  LocalRun& run;
  const std::string axis;
  const std::vector<int64_t> world_ranks;

  std::mutex mutex;
  std::condition_variable changed;
  std::string aborted;  // reason; empty = alive
  std::vector<Offer> offers;
  std::vector<bool> is_here;
  size_t num_here = 0;
  uint64_t meeting = 0;  // number of meetings held
  at::Tensor shared;     // room for a result that ranks compute in parts
  using Address = std::tuple<int64_t, int64_t, int64_t>;  // from, to, tag
  std::map<Address, std::deque<at::Tensor>> mail;

  Exchange(LocalRun& owner, std::string name, std::vector<int64_t> ranks)
      : run(owner),
        axis(std::move(name)),
        world_ranks(std::move(ranks)),
        offers(world_ranks.size()),
        is_here(world_ranks.size(), false) {}

  int64_t world_rank(size_t rank) const { return world_ranks[rank]; }

  std::string missing() const {
    std::vector<int64_t> ranks;
    for (size_t i = 0; i < is_here.size(); ++i)
      if (!is_here[i]) ranks.push_back(world_rank(i));
    return text(ranks);
  }

  double timeout_seconds() const {
    return static_cast<double>(run.timeout().count()) / 1000.0;
  }

  // Waits until `is_done`; throws when aborted or late.
  void wait(std::unique_lock<std::mutex>& lock,
            const std::string& call,
            const std::function<bool()>& is_done,
            const std::function<std::string()>& late) {
    const Deadline deadline = std::chrono::steady_clock::now() + run.timeout();
    const bool in_time = changed.wait_until(
        lock, deadline, [&] { return is_done() || !aborted.empty(); });
    if (!in_time) {
      const std::string reason = late();
      lock.unlock();
      run.abort(reason);
      throw DeviceError(reason);
    }
    if (!is_done())
      throw DeviceError(
          text("[dist ", axis, "] ", call, " was aborted: ", aborted));
  }

  // Throws on both sides when `mine` differs from what another rank brought.
  void check_same(std::unique_lock<std::mutex>& lock, size_t rank) {
    for (size_t other = 0; other < offers.size(); ++other) {
      if (!is_here[other] || offers[other].call == offers[rank].call) continue;
      const std::string reason = text("[dist ",
                                      axis,
                                      "] collectives differ: expected ",
                                      offers[other].call,
                                      " as on rank ",
                                      world_rank(other),
                                      ", got ",
                                      offers[rank].call,
                                      " on rank ",
                                      world_rank(rank));
      lock.unlock();
      run.abort(reason);
      throw BugError(reason);
    }
  }

  /// Waits for all ranks to come with the same call. `last` runs on the last
  /// one to come, before anybody leaves.
  void meet(
      size_t rank,
      const std::string& call,
      const std::function<void()>& last = [] {}) {
    std::unique_lock<std::mutex> lock(mutex);
    if (!aborted.empty())
      throw DeviceError(
          text("[dist ", axis, "] ", call, " was aborted: ", aborted));
    offers[rank].call = call;
    check_same(lock, rank);
    is_here[rank] = true;
    if (++num_here == offers.size()) {
      last();
      num_here = 0;
      is_here.assign(is_here.size(), false);
      ++meeting;
      changed.notify_all();
      return;
    }
    const uint64_t before = meeting;
    wait(
        lock,
        call,
        [&] { return meeting != before; },
        [&] {
          return text("[dist ",
                      axis,
                      "] ",
                      call,
                      " timed out: expected ranks ",
                      world_ranks,
                      " within ",
                      timeout_seconds(),
                      " s, got none from ",
                      missing(),
                      ". Those ranks are slow, stuck or gone.");
        });
  }
};

class LocalRun::LocalGroup final : public Group {
 public:
  LocalGroup(std::shared_ptr<Exchange> exchange, size_t rank)
      : exchange_(std::move(exchange)), rank_(rank) {}

  int64_t rank() const override { return static_cast<int64_t>(rank_); }
  int64_t size() const override {
    return static_cast<int64_t>(exchange_->offers.size());
  }

  void all_reduce(at::Tensor& tensor) override {
    reduce_all(tensor, "all_reduce", [](at::Tensor& sum, const at::Tensor& x) {
      sum.add_(x);
    });
  }
  void all_reduce_max(at::Tensor& tensor) override {
    reduce_all(
        tensor, "all_reduce_max", [](at::Tensor& most, const at::Tensor& x) {
          at::maximum_out(most, most, x);
        });
  }

  void all_gather(at::Tensor& out, const at::Tensor& in) override {
    at::NoGradGuard no_grad;
    check_extent("all_gather", out.numel(), in.numel() * size());
    const std::string call = name_of("all_gather", in);
    enter(call, in);
    at::Tensor flat_out = out.detach().view({-1});
    const int64_t count = in.numel();
    for (int64_t i = 0; i < size(); ++i)
      flat_out.narrow(0, i * count, count).copy_(offered(i));
    leave(call);
  }

  void reduce_scatter(at::Tensor& out, const at::Tensor& in) override {
    at::NoGradGuard no_grad;
    check_extent("reduce_scatter", in.numel(), out.numel() * size());
    const std::string call = name_of("reduce_scatter", in);
    enter(call, in);
    const int64_t count = out.numel();
    const at::Tensor sum = ordered_sum(rank() * count, count);
    out.detach().view({-1}).copy_(sum);
    leave(call);
  }

  void broadcast(at::Tensor& tensor, int64_t root) override {
    at::NoGradGuard no_grad;
    const std::string call = text(name_of("broadcast", tensor), " from ", root);
    enter(call, tensor);
    if (rank() != root)
      tensor.detach().copy_(offered(root).view(tensor.sizes()));
    leave(call);
  }

  void send(const at::Tensor& tensor, int64_t peer, int64_t tag) override {
    at::NoGradGuard no_grad;
    at::Tensor copy = tensor.detach().clone(at::MemoryFormat::Contiguous);
    std::unique_lock<std::mutex> lock(exchange_->mutex);
    exchange_->mail[{rank(), peer, tag}].push_back(std::move(copy));
    exchange_->changed.notify_all();
  }

  void receive(at::Tensor& tensor, int64_t peer, int64_t tag) override {
    at::NoGradGuard no_grad;
    const std::string call = text(
        name_of("receive", tensor), " from rank ", world(peer), " tag ", tag);
    const at::Tensor letter = take_letter(call, peer, tag);
    TITAN_CHECK(letter.sizes() == tensor.sizes() &&
                    letter.scalar_type() == tensor.scalar_type(),
                "[dist ",
                exchange_->axis,
                "] send and receive differ (tag ",
                tag,
                "): expected ",
                name_of("receive", tensor),
                " as on rank ",
                world(rank()),
                ", got ",
                name_of("send", letter),
                " on rank ",
                world(peer));
    tensor.detach().copy_(letter);
  }

  void barrier() override { exchange_->meet(rank_, "barrier"); }

  void abort(const std::string& reason) override {
    exchange_->run.abort(reason);
  }

 private:
  int64_t world(int64_t rank) const {
    return exchange_->world_rank(static_cast<size_t>(rank));
  }

  const at::Tensor& offered(int64_t rank) const {
    return exchange_->offers[static_cast<size_t>(rank)].flat;
  }

  static std::string name_of(const char* verb, const at::Tensor& tensor) {
    return text(
        verb, ' ', tensor.sizes(), ' ', c10::toString(tensor.scalar_type()));
  }

  static void check_extent(const char* verb, int64_t big, int64_t expected) {
    TITAN_CHECK_EQ(big, expected, "[group] ", verb, " elements");
  }

  // The first meeting: from here on the others read `tensor`.
  void enter(
      const std::string& call,
      const at::Tensor& tensor,
      const std::function<void()>& last = [] {}) {
    exchange_->offers[rank_].flat = flat_of(tensor);
    exchange_->meet(rank_, call, last);
  }

  // The second meeting: nobody reads any more.
  void leave(const std::string& call) {
    exchange_->meet(
        rank_, call + " (end)", [&] { exchange_->shared = at::Tensor(); });
    exchange_->offers[rank_].flat = at::Tensor();
  }

  // Elements [begin, begin + count) summed in rank order, in acc(dtype).
  at::Tensor ordered_sum(int64_t begin, int64_t count) const {
    const auto dtype = sum_dtype(offered(0).scalar_type());
    at::Tensor sum =
        offered(0).narrow(0, begin, count).to(dtype, false, /*copy=*/true);
    for (int64_t i = 1; i < size(); ++i)
      sum.add_(offered(i).narrow(0, begin, count).to(dtype));
    return sum;
  }

  // Every rank reduces one part of the elements for all of them.
  template <typename Combine>
  void reduce_all(at::Tensor& tensor, const char* verb, Combine combine) {
    at::NoGradGuard no_grad;
    const std::string call = name_of(verb, tensor);
    const auto dtype = sum_dtype(tensor.scalar_type());
    const int64_t count = tensor.numel();
    enter(call, tensor, [&] {
      exchange_->shared = at::empty({count}, tensor.options());
    });
    const at::Tensor result = exchange_->shared;
    const int64_t begin = count * rank() / size();
    const int64_t length = count * (rank() + 1) / size() - begin;
    if (length > 0) {
      at::Tensor part =
          offered(0).narrow(0, begin, length).to(dtype, false, /*copy=*/true);
      for (int64_t i = 1; i < size(); ++i)
        combine(part, offered(i).narrow(0, begin, length).to(dtype));
      result.narrow(0, begin, length).copy_(part);
    }
    leave(call);
    tensor.detach().copy_(result.view(tensor.sizes()));
  }

  at::Tensor take_letter(const std::string& call, int64_t peer, int64_t tag) {
    std::unique_lock<std::mutex> lock(exchange_->mutex);
    const auto address = std::make_tuple(peer, rank(), tag);
    exchange_->wait(
        lock,
        call,
        [&] {
          const auto box = exchange_->mail.find(address);
          return box != exchange_->mail.end() && !box->second.empty();
        },
        [&] {
          return text("[dist ",
                      exchange_->axis,
                      "] ",
                      call,
                      " timed out on rank ",
                      world(rank()),
                      ": expected a tensor within ",
                      exchange_->timeout_seconds(),
                      " s, got none. That rank is slow, stuck or gone.");
        });
    const auto box = exchange_->mail.find(address);
    at::Tensor letter = std::move(box->second.front());
    box->second.pop_front();
    if (box->second.empty()) exchange_->mail.erase(box);
    return letter;
  }

  std::shared_ptr<Exchange> exchange_;
  size_t rank_;
};

LocalRun::~LocalRun() = default;

std::vector<std::shared_ptr<Group>> LocalRun::make_group(
    const std::string& axis,
    const std::vector<int64_t>& world_ranks) {
  exchanges_.push_back(std::make_shared<Exchange>(*this, axis, world_ranks));
  std::vector<std::shared_ptr<Group>> groups;
  for (size_t i = 0; i < world_ranks.size(); ++i)
    groups.push_back(std::make_shared<LocalGroup>(exchanges_.back(), i));
  return groups;
}

void LocalRun::abort(const std::string& reason) {
  for (const auto& exchange : exchanges_) {
    const std::lock_guard<std::mutex> lock(exchange->mutex);
    if (exchange->aborted.empty()) exchange->aborted = reason;
    exchange->changed.notify_all();
  }
}

}  // namespace titan::dist

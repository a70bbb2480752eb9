// SPDX-License-Identifier: BSD-3-Clause
// Runs a mesh of ranks as threads: lays out the groups, starts one thread per
// rank, and turns the first failure into the error of the whole.
#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <ATen/Parallel.h>
#include <c10/core/AutogradState.h>

#include <titan/error.h>

#include "core/dist/local_group.h"
#include "core/dist/mesh.h"
#include "core/observe/log.h"

namespace titan::dist {
namespace {

// World rank order, outer to inner.
constexpr std::array<const char*, 5> kAxes = {"pp",
                                              "dp_replicate",
                                              "dp_shard",
                                              "cp",
                                              "tp"};

class Layout {
 public:
  explicit Layout(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      const auto found = std::find(kAxes.begin(), kAxes.end(), axis.name);
      TITAN_CHECK(found != kAxes.end(),
                  "[mesh] axis: expected one of ",
                  kAxes,
                  ", got '",
                  axis.name,
                  "'");
      TITAN_CHECK(axis.size >= 1,
                  "[mesh] ",
                  axis.name,
                  ": expected at least 1 rank, got ",
                  axis.size);
      sizes_[static_cast<size_t>(found - kAxes.begin())] = axis.size;
    }
  }

  int64_t world() const {
    int64_t product = 1;
    for (int64_t size : sizes_) product *= size;
    return product;
  }

  // Ranks that differ from `rank` in the axes [first, last) only, in order.
  std::vector<int64_t> members(int64_t rank, size_t first, size_t last) const {
    int64_t inner = 1, extent = 1;
    for (size_t i = last; i < sizes_.size(); ++i) inner *= sizes_[i];
    for (size_t i = first; i < last; ++i) extent *= sizes_[i];
    const int64_t block = inner * extent;
    const int64_t leader = rank / block * block + rank % inner;
    std::vector<int64_t> ranks;
    for (int64_t i = 0; i < extent; ++i) ranks.push_back(leader + i * inner);
    return ranks;
  }

 private:
  std::array<int64_t, kAxes.size()> sizes_ = {1, 1, 1, 1, 1};
};

using Entries = std::map<std::string, Mesh::Entry>;

void add_axis(const std::string& name,
              const Layout& layout,
              size_t first,
              size_t last,
              LocalRun& run,
              std::vector<Entries>& entries) {
  for (int64_t rank = 0; rank < layout.world(); ++rank) {
    const auto members = layout.members(rank, first, last);
    if (members.front() != rank) continue;  // its first member makes the group
    if (members.size() == 1) {
      entries[static_cast<size_t>(rank)][name] = {0, single_rank_group()};
      continue;
    }
    const auto groups = run.make_group(name, members);
    for (size_t i = 0; i < members.size(); ++i)
      entries[static_cast<size_t>(members[i])][name] = {static_cast<int64_t>(i),
                                                        groups[i]};
  }
}

std::vector<Mesh> make_meshes(const Layout& layout, LocalRun& run) {
  std::vector<Entries> entries(static_cast<size_t>(layout.world()));
  for (size_t i = 0; i < kAxes.size(); ++i)
    add_axis(kAxes[i], layout, i, i + 1, run, entries);
  add_axis("dp", layout, 1, 3, run, entries);
  add_axis("world", layout, 0, kAxes.size(), run, entries);
  std::vector<Mesh> meshes;
  for (Entries& axes : entries) {
    auto world = axes["world"].group;
    meshes.emplace_back(std::move(world), std::move(axes));
  }
  return meshes;
}

// The first failure of a run, kept with its kind.
class FirstFailure {
 public:
  template <typename Kind>
  void record(int64_t rank, const Kind& error) {
    keep(rank, error.what(), [code = error.code()](const std::string& message) {
      throw Kind(message, code);
    });
  }
  void record_unknown(int64_t rank, const std::string& what) {
    keep(rank, what, [](const std::string& message) {
      throw BugError(message);
    });
  }
  const std::string& message() const { return message_; }

  void rethrow_if_any() const {
    if (throw_) throw_(message_);
  }

 private:
  void keep(int64_t rank,
            const std::string& what,
            std::function<void(const std::string&)> thrower) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (throw_) return;
    message_ = text("[rank ", rank, "] ", what);
    throw_ = std::move(thrower);
  }

  std::mutex mutex_;
  std::string message_;
  std::function<void(const std::string&)> throw_;
};

// Runs `body` and records what it throws. A rank boundary like a process's: the
// one other place than the CLI where everything is caught.
template <typename Body>
bool run_guarded(int64_t rank, FirstFailure& failure, Body&& body) {
  try {
    body();
    return true;
  } catch (const UserError& error) {
    failure.record(rank, error);
  } catch (const DeviceError& error) {
    failure.record(rank, error);
  } catch (const BugError& error) {
    failure.record(rank, error);
  } catch (const std::exception& error) {
    failure.record_unknown(rank, error.what());
  }
  return false;
}

// A rank computes with one thread, its backward included: blocking collectives
// inside it must not hold up another rank's.
void prepare_rank_thread(int64_t rank) {
  at::set_num_threads(1);
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  log::set_rank(static_cast<int>(rank));
}

}  // namespace

void run_local_ranks(const std::vector<Axis>& axes,
                     const std::function<void(Mesh&)>& body,
                     std::chrono::milliseconds timeout) {
  const Layout layout(axes);
  if (layout.world() == 1) {
    Mesh mesh = Mesh::single();
    body(mesh);
    return;
  }
  LocalRun run(timeout);
  std::vector<Mesh> meshes = make_meshes(layout, run);
  FirstFailure failure;
  const int num_threads = at::get_num_threads();
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < layout.world(); ++rank)
    threads.emplace_back([&, rank] {
      const bool is_done = run_guarded(rank, failure, [&] {
        prepare_rank_thread(rank);
        body(meshes[static_cast<size_t>(rank)]);
      });
      if (!is_done) run.abort(failure.message());
    });
  for (std::thread& thread : threads) thread.join();
  at::set_num_threads(num_threads);
  failure.rethrow_if_any();
}

}  // namespace titan::dist

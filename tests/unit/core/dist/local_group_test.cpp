// SPDX-License-Identifier: BSD-3-Clause
#include "core/dist/local_group.h"

#include <thread>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/dist/mesh.h"

namespace titan::dist {
namespace {

using std::chrono::milliseconds;

// Numbers whose sum depends on the order and on the accumulator.
at::Tensor values_of(int64_t rank, int64_t count, at::ScalarType dtype) {
  const at::Tensor k = at::arange(count, at::kDouble);
  const at::Tensor x = (k * 0.37 + static_cast<double>(rank) * 1.9).sin() *
                       (1.0 + 1000.0 * static_cast<double>(rank % 3));
  return x.to(dtype);
}

at::Tensor plain_sum(int64_t ranks, int64_t count, at::ScalarType dtype) {
  const auto accumulate = dtype == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor sum = values_of(0, count, dtype).to(accumulate);
  for (int64_t rank = 1; rank < ranks; ++rank)
    sum = sum + values_of(rank, count, dtype).to(accumulate);
  return sum.to(dtype);
}

// Runs the body on one thread per rank of one group; errors by rank.
std::vector<std::string> errors_of(int64_t ranks,
                                   milliseconds timeout,
                                   const std::function<void(Group&)>& body) {
  LocalRun run(timeout);
  std::vector<int64_t> members;
  for (int64_t i = 0; i < ranks; ++i) members.push_back(i);
  const auto groups = run.make_group("tp", members);
  std::vector<std::string> errors(groups.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < groups.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        body(*groups[i]);
      } catch (const Error& error) {
        errors[i] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

constexpr milliseconds kLong{60000};

void check_ok(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) REQUIRE(error.empty());
}

}  // namespace

TEST_CASE("local collectives give the sum in rank order, bit for bit") {
  constexpr int64_t kCount = 24;
  for (at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (int64_t ranks : {1, 2, 3, 4, 8}) {
      CAPTURE(ranks, c10::toString(dtype));
      const int64_t whole = kCount * ranks;
      std::vector<at::Tensor> sums(static_cast<size_t>(ranks));
      std::vector<at::Tensor> parts(static_cast<size_t>(ranks));
      check_ok(errors_of(ranks, kLong, [&](Group& group) {
        const auto rank = static_cast<size_t>(group.rank());
        sums[rank] = values_of(group.rank(), kCount - 1, dtype);
        group.all_reduce(sums[rank]);
        parts[rank] = at::empty({kCount}, dtype);
        group.reduce_scatter(parts[rank],
                             values_of(group.rank(), whole, dtype));
      }));
      for (const at::Tensor& sum : sums)
        CHECK(at::equal(sum, plain_sum(ranks, kCount - 1, dtype)));
      CHECK(at::equal(at::cat(parts), plain_sum(ranks, whole, dtype)));
    }
  }
}

TEST_CASE("local all_gather, broadcast and maximum bring each rank the same") {
  std::vector<at::Tensor> gathered(3), cast(3), most(3);
  check_ok(errors_of(3, kLong, [&](Group& group) {
    const auto rank = static_cast<size_t>(group.rank());
    gathered[rank] = at::empty({6}, at::kLong);
    group.all_gather(gathered[rank],
                     at::full({2}, group.rank() + 1, at::kLong));
    cast[rank] = at::full({2, 2}, static_cast<double>(group.rank()));
    group.broadcast(cast[rank], 2);
    most[rank] = at::tensor({group.rank(), 5 - group.rank()});
    group.all_reduce_max(most[rank]);
  }));
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK(at::equal(gathered[rank], at::tensor({1, 1, 2, 2, 3, 3}, at::kLong)));
    CHECK(at::equal(cast[rank], at::full({2, 2}, 2.0)));
    CHECK(at::equal(most[rank], at::tensor({2, 5}, at::kLong)));
  }
}

TEST_CASE("local sums keep strided tensors and integer counts") {
  std::vector<at::Tensor> strided(2), counts(2);
  check_ok(errors_of(2, kLong, [&](Group& group) {
    const auto rank = static_cast<size_t>(group.rank());
    strided[rank] = at::arange(6, at::kFloat).view({2, 3}).t();
    group.all_reduce(strided[rank]);
    counts[rank] = at::tensor({int64_t{1} << 40, group.rank()});
    group.all_reduce(counts[rank]);
  }));
  for (size_t rank = 0; rank < 2; ++rank) {
    CHECK(at::equal(strided[rank],
                    at::arange(6, at::kFloat).view({2, 3}).t() * 2));
    CHECK(at::equal(counts[rank], at::tensor({int64_t{1} << 41, int64_t{1}})));
  }
}

TEST_CASE("local send never waits, and receive takes by peer and tag") {
  at::Tensor first = at::empty({2}), second = at::empty({2});
  check_ok(errors_of(2, kLong, [&](Group& group) {
    if (group.rank() == 0) {
      at::Tensor x = at::full({2}, 1.0);
      group.send(x, 1, 7);
      x.fill_(2.0);  // the first letter is a copy
      group.send(x, 1, 9);
      at::Tensor answer = at::empty({});
      group.receive(answer, 1, 0);
      CHECK(answer.item<double>() == 3.0);
    } else {
      group.send(at::full({}, 3.0), 0, 0);
      group.receive(second, 0, 9);
      group.receive(first, 0, 7);
    }
  }));
  CHECK(first[0].item<double>() == 1.0);
  CHECK(second[0].item<double>() == 2.0);
}

TEST_CASE("local collectives that differ name both calls and both ranks") {
  const auto errors = errors_of(2, kLong, [&](Group& group) {
    at::Tensor x = at::zeros({group.rank() == 0 ? 4 : 5});
    group.all_reduce(x);
  });
  const std::string all = errors[0] + errors[1];
  CHECK_THAT(all, Catch::Contains("[dist tp] collectives differ: expected"));
  CHECK_THAT(all, Catch::Contains("all_reduce (4) Float"));
  CHECK_THAT(all, Catch::Contains("all_reduce (5) Float"));
  CHECK_THAT(all, Catch::Contains("on rank 0"));
  CHECK_THAT(all, Catch::Contains("on rank 1"));

  const auto dtypes = errors_of(2, kLong, [&](Group& group) {
    at::Tensor x = at::zeros({4}, group.rank() == 0 ? at::kFloat : at::kDouble);
    group.all_reduce(x);
  });
  CHECK_THAT(dtypes[0] + dtypes[1], Catch::Contains("all_reduce (4) Double"));

  const auto verbs = errors_of(2, kLong, [&](Group& group) {
    at::Tensor x = at::zeros({4});
    if (group.rank() == 0)
      group.all_reduce(x);
    else
      group.barrier();
  });
  CHECK_THAT(verbs[0] + verbs[1], Catch::Contains("barrier"));
}

TEST_CASE("local receive of another shape names sender and receiver") {
  const auto errors = errors_of(2, kLong, [&](Group& group) {
    at::Tensor x = at::zeros({4});
    if (group.rank() == 0)
      group.send(at::zeros({3}), 1, 2);
    else
      group.receive(x, 0, 2);
  });
  CHECK_THAT(errors[1],
             Catch::Contains("send and receive differ (tag 2): expected "
                             "receive (4) Float as on rank 1, got send (3) "
                             "Float on rank 0"));
}

TEST_CASE("a local collective that is not joined names the missing ranks") {
  const auto errors = errors_of(3, milliseconds(20), [&](Group& group) {
    at::Tensor x = at::zeros({4, 2});
    if (group.rank() == 0) group.all_reduce(x);
  });
  CHECK(errors[0] ==
        "[dist tp] all_reduce (4, 2) Float timed out: expected ranks (0, 1, 2) "
        "within 0.02 s, got none from (1, 2). Those ranks are slow, stuck or "
        "gone.");
  const auto letters = errors_of(2, milliseconds(20), [&](Group& group) {
    at::Tensor x = at::zeros({4});
    if (group.rank() == 0) group.receive(x, 1, 5);
  });
  CHECK_THAT(letters[0],
             Catch::Contains("receive (4) Float from rank 1 tag 5 timed out on "
                             "rank 0"));
}

TEST_CASE("abort wakes the waiting ranks of every group with its reason") {
  std::string reason;
  try {
    run_local_ranks({{"dp_shard", 2}, {"tp", 2}}, [](Mesh& mesh) {
      at::Tensor x = at::zeros({1});
      if (mesh.rank() == 3) throw DeviceError("[gpu 3] fell off the bus");
      mesh.group("tp").all_reduce(x);
      mesh.group("dp_shard").all_reduce(x);
    });
  } catch (const DeviceError& error) {
    reason = error.what();
  }
  CHECK(reason == "[rank 3] [gpu 3] fell off the bus");

  const auto errors = errors_of(2, kLong, [&](Group& group) {
    if (group.rank() == 0)
      group.abort("[data] disk is gone");
    else
      group.barrier();
  });
  CHECK(errors[1] == "[dist tp] barrier was aborted: [data] disk is gone");
}

TEST_CASE("a failing rank keeps the kind of its error") {
  CHECK_THROWS_AS(run_local_ranks({{"tp", 2}},
                                  [](Mesh& mesh) {
                                    if (mesh.rank() == 1)
                                      throw UserError("[data] no file");
                                    mesh.group("tp").barrier();
                                  }),
                  UserError);
  CHECK_THROWS_AS(run_local_ranks({{"tp", 2}},
                                  [](Mesh& mesh) {
                                    if (mesh.rank() == 1)
                                      throw std::runtime_error("of a library");
                                    mesh.group("tp").barrier();
                                  }),
                  BugError);
}

}  // namespace titan::dist

// SPDX-License-Identifier: BSD-3-Clause
// `titan train` with its checkpoints in a bucket that the test serves.
#include <catch2/catch.hpp>

#include "tests/integration/storage/bucket_run.h"
#include "tests/unit/plugins/storage/s3/bucket_server.h"

using namespace titan::integration;

namespace {}  // namespace

TEST_CASE("a run saves into a bucket and resumes from it, bit for bit",
          "[integration]") {
  const TinyRun plain;
  const Finished whole = plain.train({});
  REQUIRE(whole.exit_code == 0);

  titan::s3::BucketServer server;
  const BucketRun bucket(server.endpoint());
  const Finished first = bucket.train({"checkpoint.async=true"});
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(first.out == whole.out);
  CHECK(says(first, "saved /ckpt/step_00000012"));
  const auto complete = server.objects();
  CHECK(complete.size() == 9);  // manifest and two files of three steps
  // As if it had been killed while it wrote the last one.
  for (const auto& [key, content] : complete)
    if (key.find("step_00000012/manifest") != std::string::npos)
      server.remove(key);
  bucket.local().cut_after(8);
  const Finished rest = bucket.train({});
  INFO(rest.err);
  CHECK(rest.exit_code == 0);
  CHECK(says(rest, "resumed from /ckpt/step_00000008 at step 8"));
  CHECK(rest.out == whole.out);
  CHECK(server.objects().size() == 9);
}

TEST_CASE("ranks share a bucket and leave no marker in it", "[integration]") {
  titan::s3::BucketServer server;
  const BucketRun bucket(server.endpoint());
  const Settings settings = {"parallel.dp_shard=2", "checkpoint.keep=1"};
  const Finished two = bucket.train(settings, {"--sim-ranks", "2"});
  INFO(two.err);
  REQUIRE(two.exit_code == 0);
  CHECK(server.objects().size() == 5);
  // Read back by one rank.
  const Finished one = bucket.train({"training.steps=14"});
  INFO(one.err);
  CHECK(one.exit_code == 0);
  CHECK(says(one, "resumed from /ckpt/step_00000012 at step 12"));
}

TEST_CASE("a bucket that does not answer ends the run before its first step",
          "[integration]") {
  std::string endpoint;
  {
    titan::s3::BucketServer gone;
    endpoint = gone.endpoint();
  }
  const Finished result = BucketRun(endpoint).train({});
  INFO(result.err);
  CHECK(result.exit_code == 75);
  CHECK(says(result, "answer: expected success within 1 attempts"));
  CHECK_FALSE(says(result, "step 1"));
}

TEST_CASE("a wrong secret is the user's error", "[integration]") {
  titan::s3::BucketServer server;
  const BucketRun bucket(server.endpoint());
  const Finished result =
      bucket.train({"checkpoint.storage.config.region=us-other-1"});
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(says(result, "got HTTP 403: wrong credentials"));
}

TEST_CASE("a damaged object is passed over for the one before",
          "[integration]") {
  titan::s3::BucketServer server;
  const BucketRun bucket(server.endpoint());
  REQUIRE(bucket.train({"training.steps=8"}).exit_code == 0);
  for (const auto& [key, content] : server.objects())
    if (key.find("step_00000008/model") != std::string::npos)
      server.put(key, content.substr(1));
  const Finished rest = bucket.train({});
  INFO(rest.err);
  CHECK(rest.exit_code == 0);
  CHECK(says(rest, "file is truncated: expected"));
  CHECK(says(rest, "resumed from /ckpt/step_00000004"));
}

TEST_CASE("a run starts from weights in a bucket", "[integration]") {
  titan::s3::BucketServer server;
  const BucketRun bucket(server.endpoint());
  REQUIRE(bucket.train({"checkpoint.content=model"}).exit_code == 0);
  for (const char* place : {"/ckpt", "/ckpt/step_00000008"}) {
    const Finished next = bucket.train({"training.steps=1",
                                        "schedule.warmup_steps=0",
                                        "checkpoint.folder=/next",
                                        "checkpoint.interval=1"},
                                       {"--from", place});
    INFO(next.err);
    CHECK(next.exit_code == 0);
    CHECK(says(next, std::string("weights from ") + place));
  }
  const Finished nothing =
      bucket.train({"checkpoint.initial=/nowhere", "checkpoint.folder=/other"});
  INFO(nothing.err);
  CHECK(nothing.exit_code == 2);
  CHECK(says(nothing, "expected a checkpoint in checkpoint.storage, got none"));
}

TEST_CASE("commands find the checkpoints of a recipe's bucket",
          "[integration]") {
  titan::s3::BucketServer server;
  const BucketRun bucket(server.endpoint());
  REQUIRE(bucket.train({}).exit_code == 0);

  const Finished inspected = bucket.command({"checkpoint", "inspect"});
  INFO(inspected.err);
  CHECK(inspected.exit_code == 0);
  CHECK(inspected.out.find("step        12\n") != std::string::npos);
  const Finished named =
      bucket.command({"checkpoint", "inspect", "/ckpt/step_00000004"});
  CHECK(named.out.find("step        4\n") != std::string::npos);
  CHECK(bucket.command({"checkpoint", "verify"}).exit_code == 0);
  const Finished different = bucket.command(
      {"checkpoint", "diff", "/ckpt/step_00000004", "/ckpt/step_00000008"});
  INFO(different.err);
  CHECK(different.exit_code == 1);
  CHECK(different.out.find("elements differ") != std::string::npos);

  const Finished text = bucket.command(
      {"generate", "--prompt", "Line", "--max-tokens", "4", "--json"});
  INFO(text.err);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("\"source\":\"/ckpt/step_00000012\"") !=
        std::string::npos);

  for (const auto& [key, content] : server.objects())
    if (key.find("step_00000008/model") != std::string::npos)
      server.put(key, content.substr(0, content.size() - 1) + "?");
  const Finished damaged = bucket.command({"checkpoint", "verify"});
  CHECK(damaged.exit_code == 2);
  CHECK(damaged.out.find("file is damaged: expected checksum") !=
        std::string::npos);

  CHECK(bucket.command({"checkpoint", "prune", "--keep", "1"}).exit_code == 0);
  CHECK(server.objects().size() == 3);
  CHECK(bucket.command({"checkpoint", "prune", "/none", "--keep", "1"})
            .exit_code == 2);
}

// SPDX-License-Identifier: BSD-3-Clause
// `titan train` with its checkpoints in a bucket that the test serves.
#include <catch2/catch.hpp>

#include "tests/integration/storage/bucket_run.h"
#include "tests/unit/plugins/storage/s3/bucket_server.h"

using namespace titan::integration;

namespace {

bool says(const Finished& run, const std::string& text) {
  return run.err.find(text) != std::string::npos;
}

}  // namespace

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

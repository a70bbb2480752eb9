// SPDX-License-Identifier: BSD-3-Clause
// The tiny run with its checkpoints in a bucket.
#pragma once

#include <string>
#include <vector>

#include "tests/integration/tiny_run.h"

namespace titan::integration {

/// `titan train` with checkpoint.storage at `endpoint`, a bucket "bucket" in
/// "us-test-1" and the key pair of kTestCredentials.
class BucketRun {
 public:
  explicit BucketRun(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  Finished train(const Settings& settings,
                 const std::vector<std::string>& options = {}) const {
    Settings all = {"checkpoint.folder=/ckpt",
                    "checkpoint.storage.use=titan.s3",
                    "checkpoint.storage.config.bucket=bucket",
                    "checkpoint.storage.config.region=us-test-1",
                    "checkpoint.storage.config.attempts=1",
                    "checkpoint.storage.config.endpoint=" + endpoint_};
    all.insert(all.end(), settings.begin(), settings.end());
    return run_titan_process(run_.words(all, options),
                             {{"AWS_ACCESS_KEY_ID", "test-key"},
                              {"AWS_SECRET_ACCESS_KEY", "test-secret"},
                              {"AWS_SESSION_TOKEN", ""}});
  }

  const TinyRun& local() const { return run_; }

 private:
  TinyRun run_;
  std::string endpoint_;
};

}  // namespace titan::integration

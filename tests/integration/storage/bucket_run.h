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
    Settings all = place();
    all.insert(all.end(), settings.begin(), settings.end());
    return run(run_.words(all, options));
  }

  /// Another command with the recipe's storage: `titan WORDS --recipe ...`.
  Finished command(std::vector<std::string> words) const {
    words.insert(words.end(), {"--recipe", run_.recipe().string()});
    for (const std::string& setting : place())
      words.insert(words.end(), {"--set", setting});
    return run(words);
  }

  const TinyRun& local() const { return run_; }

 private:
  Settings place() const {
    return {"checkpoint.folder=/ckpt",
            "checkpoint.storage.use=titan.s3",
            "checkpoint.storage.config.bucket=bucket",
            "checkpoint.storage.config.region=us-test-1",
            "checkpoint.storage.config.attempts=1",
            "checkpoint.storage.config.endpoint=" + endpoint_};
  }
  static Finished run(const std::vector<std::string>& words) {
    return run_titan_process(words,
                             {{"AWS_ACCESS_KEY_ID", "test-key"},
                              {"AWS_SECRET_ACCESS_KEY", "test-secret"},
                              {"AWS_SESSION_TOKEN", ""}});
  }

  TinyRun run_;
  std::string endpoint_;
};

}  // namespace titan::integration

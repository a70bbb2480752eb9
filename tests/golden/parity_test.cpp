// SPDX-License-Identifier: BSD-3-Clause
// Case folders that `titan parity` must refuse, and what a case of float64
// alone is.
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/golden/hf_checks.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

namespace titan::golden {
namespace {

namespace fs = std::filesystem;

void copy(const fs::path& from,
          const fs::path& to,
          const std::vector<std::string>& names) {
  fs::create_directories(to);
  for (const std::string& name : names) fs::copy_file(from / name, to / name);
}

std::string refusal(const fs::path& folder) {
  try {
    train::run_parity(plugins(), folder, {});
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

const std::vector<std::string> kModel = {"config.json", "model.safetensors"};
const std::vector<std::string> kSteps = {"training.json",
                                         "batches.safetensors"};
const std::vector<std::string> kTrained = {"expected_training.safetensors",
                                           "final.safetensors"};

}  // namespace

TEST_CASE("a case without numbers is refused, not passed") {
  const TemporaryFolder folder;
  copy(case_folder("deepseek_v3_groups"), folder.path(), kModel);
  CHECK_THAT(refusal(folder.path()), Catch::Contains("reference: expected"));
  copy(case_folder("deepseek_v3_groups"),
       folder.path(),
       {"inputs.safetensors", "expected.safetensors", "grads.safetensors"});
  CHECK(refusal(folder.path()) == "accepted");
  copy(case_folder("deepseek_v3_groups"), folder.path(), kSteps);
  CHECK_THAT(refusal(folder.path()),
             Catch::Contains("training.json asks for some"));
}

TEST_CASE("numbers of float32 do not pass for float64") {
  const TemporaryFolder folder;
  const fs::path from = case_folder("deepseek_v3_groups");
  copy(from, folder.path(), kModel);
  copy(from, folder.path(), kSteps);
  copy(from, folder.path() / "float64", kTrained);
  CHECK_THAT(refusal(folder.path()),
             Catch::Contains("expected F64, got Float"));
}

TEST_CASE("a case may be of float64 alone") {
  const TemporaryFolder folder;
  const fs::path from = case_folder("deepseek_v3");
  copy(from, folder.path(), kModel);
  copy(from, folder.path(), kSteps);
  copy(from / "float64", folder.path() / "float64", kTrained);
  const train::ParityReport report =
      train::run_parity(plugins(), folder.path(), {});
  CHECK(report.passes());
  CHECK(report.training_steps == 20);
  for (const train::TensorError& error : report.errors)
    CHECK(error.name.starts_with("float64 "));
}

}  // namespace titan::golden

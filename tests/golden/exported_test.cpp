// SPDX-License-Identifier: BSD-3-Clause
// What Titan exports, as transformers reads it: exported/make trained a tiny
// model of each family, and transformers computed logits, loss and gradients
// from the export.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/golden/hf_checks.h"

namespace titan::golden {
namespace {

std::vector<std::string> exported_families() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(case_folder("exported")))
    if (entry.is_directory())
      out.push_back("exported/" + entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

// Measured: at most 1.5e-5, in rates of decay whose gradients are about 1e-5.
constexpr train::ParityOptions kExportedLimits = {3e-5, 3e-5};

}  // namespace

TEST_CASE("transformers computes from an export what Titan does") {
  const auto families = exported_families();
  REQUIRE(families.size() >= 8);
  for (const std::string& family : families)
    check_parity(family, kExportedLimits);
}

TEST_CASE("an export that is read is exported again bit for bit") {
  for (const std::string& family : exported_families())
    check_weights_there_and_back(family);
}

}  // namespace titan::golden

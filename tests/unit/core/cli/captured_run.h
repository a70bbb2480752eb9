// SPDX-License-Identifier: BSD-3-Clause
// Runs `titan` in this process and catches what it prints; compares it with
// approved text.
#pragma once

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "core/cli/run_titan.h"

namespace titan::cli {

struct CapturedRun {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline CapturedRun run_captured(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  std::streambuf* const real_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const real_err = std::cerr.rdbuf(err.rdbuf());
  const int exit_code = run_titan(arguments, out, err);
  std::cout.rdbuf(real_out);
  std::cerr.rdbuf(real_err);
  return {exit_code, out.str(), err.str()};
}

/// True when `text` is tests/golden/cli/NAME.approved.txt; else writes the
/// received text beside it, for scripts/approve.
inline bool is_approved(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = TITAN_SOURCE_DIR "/tests/golden/cli";
  std::ifstream file(folder / (name + ".approved.txt"));
  const std::string approved{std::istreambuf_iterator<char>(file), {}};
  if (text == approved) return true;
  std::ofstream(folder / (name + ".received.txt")) << text;
  return false;
}

inline std::string recipe_path(const std::string& name) {
  return TITAN_SOURCE_DIR "/configs/" + name + ".yaml";
}

}  // namespace titan::cli

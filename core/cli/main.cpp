// SPDX-License-Identifier: BSD-3-Clause
// The `titan` executable. Everything is in run_titan.cpp and the command files.
#include <iostream>

#include "core/cli/run_titan.h"

int main(int argc, char** argv) {
  return titan::cli::run_titan({argv + 1, argv + argc}, std::cout, std::cerr);
}

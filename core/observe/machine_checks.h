// SPDX-License-Identifier: BSD-3-Clause
// What is likely to hurt a run on this machine, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "core/observe/machine.h"

namespace titan {

struct MachineCheck {
  std::string name;
  bool has_passed = true;
  std::string found;  ///< what is so
  std::string fix;    ///< what to do; only where it has not passed
};

/// Judges facts; reads nothing itself.
std::vector<MachineCheck> check_machine(const MachineFacts& facts);

/// "PASS name: found" or "WARN name: found. fix", one per line.
std::string check_lines(const std::vector<MachineCheck>& checks);

}  // namespace titan

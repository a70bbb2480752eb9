// SPDX-License-Identifier: BSD-3-Clause
// What `titan plugin test` found, as a table, as JSON and as JUnit's XML.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace titan::cli {

enum class CheckOutcome { kPassed, kFailed, kNotRun };

struct Check {
  std::string component;  // id; "-" for the file as a whole
  std::string name;
  CheckOutcome outcome = CheckOutcome::kNotRun;
  std::string detail;
};

struct CheckReport {
  std::string file;
  uint64_t seed = 0;
  std::vector<Check> checks;

  int count(CheckOutcome outcome) const;
  bool passes() const { return count(CheckOutcome::kFailed) == 0; }
};

/// "passed", "FAILED", "not run".
std::string outcome_name(CheckOutcome outcome);

std::string report_text(const CheckReport& report);
std::string report_json(const CheckReport& report);
std::string report_junit(const CheckReport& report);

/// A check as one line of JSON, and back; no other line is taken for one.
std::string check_line(const Check& check);
bool read_check_line(const std::string& line, Check& check);

}  // namespace titan::cli

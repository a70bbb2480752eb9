// SPDX-License-Identifier: BSD-3-Clause
// A fault found in a recipe. Faults are collected and reported together: one
// run, one list, instead of one mended key per start.
#pragma once

#include <string>
#include <vector>

#include "core/config/value.h"

namespace titan::config {

/// Numbers of the error taxonomy (docs/errors.md).
namespace code {
constexpr int kUnknownKey = 501;
constexpr int kType = 502;
constexpr int kRange = 503;
constexpr int kMissing = 504;
constexpr int kUnusedKey = 505;
constexpr int kConflict = 506;
constexpr int kSchemaInvalid = 507;
}  // namespace code

struct Problem {
  Origin origin;
  std::string path;
  std::string what;  ///< "what is wrong: expected x, got y. Fix."
  int code = 0;
};

/// Returns `file:line:column: [path] what`, without the place if unknown.
std::string format_problem(const Problem& problem);

/// Throws one UserError with a line per problem and the first one's code;
/// returns if there is none.
void throw_if_any(const std::vector<Problem>& problems);

}  // namespace titan::config

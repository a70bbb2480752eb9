// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/problem.h"

#include <titan/error.h>

namespace titan::config {
namespace {

// A machine-made recipe can have thousands of faults of one kind.
constexpr std::size_t kMaxShown = 30;

}  // namespace

std::string format_problem(const Problem& problem) {
  const bool has_place = problem.origin.kind != Origin::Kind::kUnknown;
  return text(has_place ? problem.origin.describe() + ": " : std::string(),
              '[',
              problem.path.empty() ? std::string("recipe") : problem.path,
              "] ",
              problem.what);
}

void throw_if_any(const std::vector<Problem>& problems) {
  if (problems.empty()) return;
  std::string message;
  for (std::size_t i = 0; i < problems.size() && i < kMaxShown; ++i) {
    if (i > 0) message.push_back('\n');
    message += format_problem(problems[i]);
  }
  if (problems.size() > kMaxShown)
    message += text("\n... and ", problems.size() - kMaxShown, " more");
  throw UserError(message, problems.front().code);
}

}  // namespace titan::config

// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/kernel_checks.h"

#include <set>

#include <titan/text.h>

#include "core/cli/text_table.h"
#include "core/op/conformance.h"

namespace titan::cli {
namespace {

constexpr size_t kMaxFailuresShown = 3;

std::string failure_text(const op::ConformanceResult& result) {
  std::string out =
      text('"', result.case_name, "\" ", op::dtype_name(result.dtype), ": ");
  if (!result.problem.empty()) return out + result.problem;
  const bool is_forward = !(result.forward_error <= result.limit.forward);
  const double error =
      is_forward ? result.forward_error : result.backward_error;
  const double limit =
      is_forward ? result.limit.forward : result.limit.backward;
  return text(out,
              is_forward ? "outputs" : "gradients",
              " differ from the reference in fp64: expected at most ",
              short_text(limit),
              ", got ",
              short_text(error));
}

/// The dtypes that the kernel says it takes and whose cases it all refused.
std::string unseen_dtypes(const op::Kernel& kernel,
                          const std::set<at::ScalarType>& seen) {
  std::string out;
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    const uint64_t mask = kernel.match().dtype_mask;
    if ((mask >> static_cast<int>(dtype) & 1) == 0 || seen.count(dtype) != 0)
      continue;
    out += text(out.empty() ? "" : " ", op::dtype_name(dtype));
  }
  return out;
}

std::string failures_text(const std::vector<op::ConformanceResult>& results) {
  std::string out;
  size_t num_failures = 0;
  for (const op::ConformanceResult& result : results) {
    if (result.passes()) continue;
    if (++num_failures <= kMaxFailuresShown)
      out += text(out.empty() ? "" : "; ", failure_text(result));
  }
  if (num_failures > kMaxFailuresShown)
    out += text("; and ", num_failures - kMaxFailuresShown, " more");
  return out;
}

Check judge(const op::Kernel& kernel,
            std::string name,
            const std::vector<op::ConformanceResult>& results) {
  Check check{kernel.id(), std::move(name), CheckOutcome::kFailed, ""};
  std::set<at::ScalarType> seen;
  size_t num_refused = 0;
  std::string refusal;
  for (const op::ConformanceResult& result : results) {
    if (result.refusal.empty()) {
      seen.insert(result.dtype);
    } else {
      ++num_refused;
      refusal = result.refusal;
    }
  }
  check.detail = failures_text(results);
  if (!check.detail.empty()) return check;
  if (const std::string unseen = unseen_dtypes(kernel, seen); !unseen.empty()) {
    check.detail = text("refuses every case of ",
                        unseen,
                        ", which it says it takes: ",
                        refusal);
    return check;
  }
  check.outcome = CheckOutcome::kPassed;
  check.detail = text(results.size() - num_refused, " cases");
  if (num_refused > 0)
    check.detail += text(", ", num_refused, " refused (", refusal, ')');
  return check;
}

}  // namespace

std::vector<Check> check_kernel_component(
    const std::shared_ptr<const op::Kernel>& kernel,
    const KernelCheckOptions& options) {
  std::vector<Check> checks;
  for (const bool is_strided : {false, true}) {
    op::ConformanceOptions conformance;
    conformance.seed = options.seed;
    conformance.is_strided = is_strided;
    const std::string name = is_strided ? "cases, strided inputs" : "cases";
    if (options.on_case)
      conformance.on_case = [&](const std::string& what) {
        options.on_case(text(name, ", ", what));
      };
    checks.push_back(
        judge(*kernel, name, op::check_kernel(kernel, conformance)));
  }
  return checks;
}

}  // namespace titan::cli

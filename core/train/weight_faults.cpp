// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/weight_faults.h"

#include <titan/error.h>

#include "core/checkpoint/cast.h"
#include "core/observe/log.h"

namespace titan::train {
namespace {

// Faults of one kind: the first few and how many there are.
std::string listed(const char* kind, const std::set<std::string>& faults) {
  constexpr size_t kShown = 8;
  if (faults.empty()) return "";
  std::string lines = text("\n  ", kind, ": ", faults.size());
  size_t num_shown = 0;
  for (const std::string& fault : faults)
    if (num_shown++ < kShown) lines += text("\n    ", fault);
  return lines;
}

}  // namespace

bool WeightFaults::check(const std::string& name,
                         const std::vector<std::int64_t>& expected,
                         const std::vector<std::int64_t>& got,
                         checkpoint::Dtype dtype) {
  if (got != expected)
    reshaped.insert(text(name, " shape: expected ", expected, ", got ", got));
  // Integers would be read as weights: 8-bit ones of a foreign quantisation.
  const bool is_float = checkpoint::is_float(dtype);
  if (!is_float)
    retyped.insert(text(name,
                        " type: expected floating point, got ",
                        checkpoint::dtype_name(dtype)));
  return got == expected && is_float;
}

void WeightFaults::require_none(const std::string& where,
                                const std::string& model) const {
  TITAN_USER_CHECK(is_empty(),
                   '[',
                   where,
                   "] tensors: expected those of ",
                   model,
                   ", got other ones.",
                   list());
}

void WeightFaults::settle(const std::string& where,
                          const std::string& model,
                          bool is_strict,
                          size_t num_read,
                          size_t num_parameters) const {
  if (is_strict || is_empty()) return require_none(where, model);
  TITAN_USER_CHECK(num_read > 0,
                   '[',
                   where,
                   "] tensors: expected some of ",
                   model,
                   ", got none that fits.",
                   list());
  log::warn(text('[',
                 where,
                 "] loaded ",
                 num_read,
                 " of ",
                 num_parameters,
                 " parameters of ",
                 model,
                 ", the others keep the values of the seed "
                 "(checkpoint.strict: false).",
                 list()));
}

bool WeightFaults::is_empty() const {
  return missing.empty() && unexpected.empty() && reshaped.empty() &&
         retyped.empty();
}

std::string WeightFaults::list() const {
  return listed("missing", missing) + listed("of another shape", reshaped) +
         listed("of another type", retyped) + listed("unexpected", unexpected);
}

}  // namespace titan::train

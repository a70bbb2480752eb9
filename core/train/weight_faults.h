// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with the weights of a folder for a model: all of it at once, so
// that a renamed prefix is seen as one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/checkpoint/dtype.h"

namespace titan::train {

struct WeightFaults {
  // Sets: a tensor that several parameters share out is one fault.
  std::set<std::string> missing;
  std::set<std::string> unexpected;
  std::set<std::string> reshaped;
  std::set<std::string> retyped;

  /// Notes a tensor whose shape is another one, or which holds no floats; true
  /// if it can be read.
  bool check(const std::string& name,
             const std::vector<std::int64_t>& expected,
             const std::vector<std::int64_t>& got,
             checkpoint::Dtype dtype);

  /// UserError that lists them by kind, the first few of each and how many
  /// there are. `where` is the message's tag, `model` whose tensors these are.
  void require_none(const std::string& where, const std::string& model) const;

  /// Where `is_strict`: as require_none. Else the same list as a warning, with
  /// how many of the model's parameters can be read; UserError if none can.
  void settle(const std::string& where,
              const std::string& model,
              bool is_strict,
              size_t num_read,
              size_t num_parameters) const;

 private:
  bool is_empty() const;
  std::string list() const;
};

}  // namespace titan::train

// SPDX-License-Identifier: BSD-3-Clause
// The items of one pipeline stage, resolved: what goes into each, what it
// passes on, which towers it reads, and what crosses the stage's two ends.
// Order of execution: towers as they were declared, the root sequence, the
// output head.
#pragma once

#include <string>
#include <vector>

#include "core/module/tree.h"
#include "core/parallel/plan.h"

namespace titan::parallel {

/// FQNs of all items of a model in order of execution, the output head last.
std::vector<std::string> item_names(const module::ModuleTree& tree);
/// Is `fqn`, of a module, parameter or buffer, that of an item or inside one?
bool is_inside_any(const std::string& fqn,
                   const std::vector<std::string>& items);
/// Those of towers: they stay on the first stage.
std::vector<std::string> tower_item_names(const module::ModuleTree& tree);

/// A tensor of a tower's last carry, which items elsewhere may read.
struct TowerOutput {
  std::string sequence;
  module::CarrySpec spec;
};

struct StageItem {
  std::string name;
  module::Module* module = nullptr;
  std::vector<module::CarrySpec> carry_in;  // nothing at a sequence's start
  std::vector<module::CarrySpec> carry;     // what it passes on
  std::vector<std::string> batch_inputs;
  struct SideInput {
    std::string name;  // as the item asks for it
    size_t tower_output;
  };
  std::vector<SideInput> side_inputs;
  std::vector<module::Parameter*> parameters;
  RecomputeRule recompute;
  bool is_output = false;
  /// A trained parameter lies in the item or above it: backward reaches it.
  bool is_reached = true;
  bool starts_sequence = false;
  bool ends_tower = false;
  size_t first_tower_output = 0;  // where ends_tower puts its carry
  const char* forward_span = "";  // names in traces
  const char* backward_span = "";
};

struct StageItems {
  std::vector<StageItem> items;
  std::vector<TowerOutput> tower_outputs;   // of the whole model
  std::vector<module::CarrySpec> received;  // carry of the stage before
  /// Tower outputs that this stage or a later one reads, and those that a later
  /// one reads; ascending.
  std::vector<size_t> received_sides, sent_sides;
};

/// UserError for a side input that no tower before the item gives. A carry that
/// depends on no trained parameter is given as not differentiable.
StageItems stage_items(const module::ModuleTree& tree,
                       const Plan& plan,
                       size_t stage);

}  // namespace titan::parallel

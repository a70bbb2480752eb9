// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/stage_items.h"

#include <algorithm>
#include <map>
#include <set>

#include <titan/error.h>

#include "core/observe/spans.h"
#include "core/op/select.h"

namespace titan::parallel {
namespace {

using module::Item;
using module::ModuleTree;
using module::Sequence;

std::vector<const Sequence*> towers_of(const ModuleTree& tree) {
  std::vector<const Sequence*> towers;
  for (const auto& sequence : tree.sequences())
    if (!sequence->name.empty()) towers.push_back(sequence.get());
  return towers;
}

RecomputeRule recompute_rule(const Plan& plan, const std::string& fqn) {
  RecomputeRule found;
  for (const RecomputeRule& rule : plan.recompute)
    if (op::fqn_matches(rule.match, fqn)) found = rule;
  return found;
}

// Walks all sequences once, collecting every stage's items.
class Walk {
 public:
  Walk(const ModuleTree& tree, const Plan& plan) : tree_(tree), plan_(plan) {
    for (const Sequence* tower : towers_of(tree)) {
      TITAN_USER_CHECK(!tower->items.empty(),
                       "[model] tower '",
                       tower->name,
                       "': expected items, got none");
      add_sequence(*tower);
      give_outputs(*tower);
    }
    add_sequence(tree.root_sequence());
    if (const module::Output& output = tree.output(); output.head != nullptr) {
      StageItem& head = add(*output.head);
      head.is_output = true;
      head.recompute = {};
      head.carry_in = items_[items_.size() - 2].carry;
      settle_reach(head);
    }
  }

  std::vector<StageItem>& items() { return items_; }
  std::vector<TowerOutput>& tower_outputs() { return tower_outputs_; }

 private:
  StageItem& add(module::Module& module) {
    StageItem& item = items_.emplace_back();
    item.name = module.fqn;
    item.module = &module;
    item.parameters = tree_.parameters_of(module);
    item.recompute = recompute_rule(plan_, module.fqn);
    item.forward_span = intern_span_name("forward " + module.fqn);
    item.backward_span = intern_span_name("backward " + module.fqn);
    return item;
  }

  void add_sequence(const Sequence& sequence) {
    bool is_first = true;
    for (const Item& declared : sequence.items) {
      StageItem& item = add(*declared.module);
      item.starts_sequence = is_first;
      if (!is_first) item.carry_in = items_[items_.size() - 2].carry;
      item.carry = declared.carry;
      item.batch_inputs = declared.batch_inputs;
      for (const std::string& name : declared.side_inputs)
        item.side_inputs.push_back({name, find_output(item, name)});
      settle_reach(item);
      is_first = false;
    }
  }

  // Gradients are not computed where nothing trained lies: the items below the
  // lowest trained parameter keep no graph and have no backward.
  void settle_reach(StageItem& item) const {
    const auto is_differentiable = [](const module::CarrySpec& spec) {
      return spec.is_differentiable;
    };
    item.is_reached =
        std::any_of(item.parameters.begin(),
                    item.parameters.end(),
                    [](const auto* each) { return each->is_trainable; }) ||
        std::any_of(
            item.carry_in.begin(), item.carry_in.end(), is_differentiable) ||
        std::any_of(
            item.side_inputs.begin(),
            item.side_inputs.end(),
            [&](const StageItem::SideInput& side) {
              return tower_outputs_[side.tower_output].spec.is_differentiable;
            });
    if (item.is_reached) return;
    for (module::CarrySpec& spec : item.carry) spec.is_differentiable = false;
  }

  void give_outputs(const Sequence& tower) {
    items_.back().ends_tower = true;
    items_.back().first_tower_output = tower_outputs_.size();
    const auto& carry = items_.back().carry;
    for (const module::CarrySpec& spec : carry) {
      if (carry.size() == 1) by_name_[tower.name] = tower_outputs_.size();
      by_name_[text(tower.name, '.', spec.name)] = tower_outputs_.size();
      tower_outputs_.push_back({tower.name, spec});
    }
  }

  size_t find_output(const StageItem& item, const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [output, index] : by_name_) known.push_back(output);
    throw UserError(text("[model ",
                         item.name,
                         "] side input: expected an output of a tower declared "
                         "before, one of ",
                         known,
                         ", got '",
                         name,
                         "'"));
  }

  const ModuleTree& tree_;
  const Plan& plan_;
  std::vector<StageItem> items_;
  std::vector<TowerOutput> tower_outputs_;
  std::map<std::string, size_t> by_name_;
};

// Tower outputs that items from `first` on read.
std::vector<size_t> sides_from(const std::vector<StageItem>& items,
                               size_t first) {
  std::set<size_t> used;
  for (size_t i = first; i < items.size(); ++i)
    for (const StageItem::SideInput& side : items[i].side_inputs)
      used.insert(side.tower_output);
  return {used.begin(), used.end()};
}

}  // namespace

std::vector<std::string> tower_item_names(const ModuleTree& tree) {
  std::vector<std::string> names;
  for (const Sequence* tower : towers_of(tree))
    for (const Item& item : tower->items) names.push_back(item.module->fqn);
  return names;
}

bool is_inside_any(const std::string& fqn,
                   const std::vector<std::string>& items) {
  return std::any_of(items.begin(), items.end(), [&](const std::string& item) {
    return fqn == item || fqn.starts_with(item + ".");
  });
}

std::vector<std::string> item_names(const ModuleTree& tree) {
  std::vector<std::string> names = tower_item_names(tree);
  for (const Item& item : tree.root_sequence().items)
    names.push_back(item.module->fqn);
  if (tree.output().head != nullptr) names.push_back(tree.output().head->fqn);
  return names;
}

StageItems stage_items(const ModuleTree& tree, const Plan& plan, size_t stage) {
  Walk walk(tree, plan);
  std::vector<StageItem>& all = walk.items();
  size_t first = 0;
  for (size_t s = 0; s < stage; ++s) first += plan.stages[s].items.size();
  const size_t last = first + plan.stages[stage].items.size();
  TITAN_CHECK(last <= all.size(),
              "[plan] stage ",
              stage,
              " has more items than the model");
  StageItems result;
  result.received_sides = sides_from(all, first);
  result.sent_sides = sides_from(all, last);
  result.received = all[first].carry_in;
  result.tower_outputs = std::move(walk.tower_outputs());
  const auto begin = std::make_move_iterator(all.begin());
  result.items.assign(begin + static_cast<std::ptrdiff_t>(first),
                      begin + static_cast<std::ptrdiff_t>(last));
  return result;
}

}  // namespace titan::parallel

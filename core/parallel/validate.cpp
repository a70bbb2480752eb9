// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/validate.h"

#include <algorithm>
#include <map>
#include <set>

#include <titan/error.h>

#include "core/op/select.h"
#include "core/parallel/plan_json.h"
#include "core/parallel/stage_items.h"

namespace titan::parallel {
namespace {

using module::ModuleTree;
using module::Parameter;

template <typename Named>
size_t count_matches(const std::string& pattern, const Named& named) {
  return static_cast<size_t>(
      std::count_if(named.begin(), named.end(), [&](const auto& entry) {
        return op::fqn_matches(pattern, entry->fqn);
      }));
}

// ---- pipeline ----

void check_stage_items(const Plan& plan,
                       const std::vector<std::string>& items) {
  TITAN_USER_CHECK(static_cast<int64_t>(plan.stages.size()) == plan.mesh.pp,
                   "[plan pipeline.stages] number: expected parallel.pp ",
                   plan.mesh.pp,
                   ", got ",
                   plan.stages.size(),
                   ". A pipeline planner (titan.pipeline) makes stages.");
  size_t next = 0;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    TITAN_USER_CHECK(!plan.stages[s].items.empty(),
                     "[plan pipeline.stages[",
                     s,
                     "]] items: expected at least one, got none");
    for (const std::string& item : plan.stages[s].items) {
      TITAN_USER_CHECK(next < items.size() && items[next] == item,
                       "[plan pipeline.stages[",
                       s,
                       "]] items in order: expected ",
                       next < items.size() ? items[next] : "no more items",
                       ", got ",
                       item);
      ++next;
    }
  }
  TITAN_USER_CHECK(next == items.size(),
                   "[plan pipeline.stages] items: expected every item in a "
                   "stage, got none with ",
                   next < items.size() ? items[next] : "");
}

// Their outputs travel along the stages from the first one.
void check_towers(const Plan& plan, const ModuleTree& tree) {
  const std::vector<std::string> towers = tower_item_names(tree);
  const auto& first = plan.stages.front().items;
  for (const std::string& item : towers)
    TITAN_USER_CHECK(
        std::find(first.begin(), first.end(), item) != first.end(),
        "[plan pipeline.stages] ",
        item,
        " is of a tower: expected it in the first stage, got it behind");
}

void check_actions_complete(const StagePlan& stage,
                            size_t index,
                            int64_t microbatches) {
  std::set<int64_t> forward, backward;
  for (const Action& action : stage.actions) {
    const bool is_forward = action.kind == Action::Kind::kForward;
    TITAN_USER_CHECK(action.microbatch < microbatches,
                     "[plan pipeline.stages[",
                     index,
                     "]] microbatch of ",
                     action_name(action),
                     ": expected less than ",
                     microbatches,
                     ", got ",
                     action.microbatch);
    TITAN_USER_CHECK(
        (is_forward ? forward : backward).insert(action.microbatch).second,
        "[plan pipeline.stages[",
        index,
        "]] actions: expected ",
        action_name(action),
        " once, got it twice");
    TITAN_USER_CHECK(is_forward || forward.count(action.microbatch) != 0,
                     "[plan pipeline.stages[",
                     index,
                     "]] actions: expected F",
                     action.microbatch,
                     " before ",
                     action_name(action),
                     ", got it after or not at all");
  }
  for (int64_t m = 0; m < microbatches; ++m)
    TITAN_USER_CHECK(backward.count(m) != 0,
                     "[plan pipeline.stages[",
                     index,
                     "]] actions: expected F",
                     m,
                     " and B",
                     m,
                     ", got no B",
                     m);
}

// Runs all stages as far as they go: a forward waits for the stage before, a
// backward for the stage behind; sends never wait.
void check_no_deadlock(const Plan& plan) {
  const size_t stages = plan.stages.size();
  std::vector<size_t> next(stages, 0);
  std::vector<std::set<int64_t>> forward(stages), backward(stages);
  const auto can_run = [&](size_t s, const Action& action) {
    if (action.kind == Action::Kind::kForward)
      return s == 0 || forward[s - 1].count(action.microbatch) != 0;
    return s + 1 == stages || backward[s + 1].count(action.microbatch) != 0;
  };
  bool has_moved = true;
  while (has_moved) {
    has_moved = false;
    for (size_t s = 0; s < stages; ++s) {
      const auto& actions = plan.stages[s].actions;
      while (next[s] < actions.size() && can_run(s, actions[next[s]])) {
        const Action& action = actions[next[s]++];
        (action.kind == Action::Kind::kForward ? forward : backward)[s].insert(
            action.microbatch);
        has_moved = true;
      }
    }
  }
  std::vector<std::string> stuck;
  for (size_t s = 0; s < stages; ++s)
    if (next[s] < plan.stages[s].actions.size())
      stuck.push_back(text(
          "stage ", s, " at ", action_name(plan.stages[s].actions[next[s]])));
  TITAN_USER_CHECK(stuck.empty(),
                   "[plan pipeline] deadlock: expected all stages to end, got "
                   "them waiting for one another: ",
                   stuck);
}

// ---- data ----

std::map<std::string, size_t> bucket_of_items(
    const Plan& plan,
    const std::vector<std::string>& items) {
  std::map<std::string, size_t> bucket_of;
  for (size_t b = 0; b < plan.buckets.size(); ++b) {
    const BucketPlan& bucket = plan.buckets[b];
    TITAN_USER_CHECK(
        bucket.placement == Placement::kFlat || !bucket.reshards_after_forward,
        "[plan data.buckets[",
        b,
        "]] reshards_after_forward of a replicated bucket: expected false, got "
        "true. A replica has nothing to give back.");
    for (const std::string& item : bucket.items) {
      TITAN_USER_CHECK(
          std::find(items.begin(), items.end(), item) != items.end(),
          "[plan data.buckets[",
          b,
          "]] item: expected one of the model, got '",
          item,
          "'");
      TITAN_USER_CHECK(bucket_of.emplace(item, b).second,
                       "[plan data.buckets[",
                       b,
                       "]] ",
                       item,
                       ": expected it in one bucket, got it in two");
    }
  }
  for (const std::string& item : items)
    TITAN_USER_CHECK(bucket_of.count(item) != 0,
                     "[plan data.buckets] parameters of ",
                     item,
                     ": expected a bucket that holds them, got none");
  return bucket_of;
}

// A tied parameter lives in the first bucket that lists one of its users, and
// its gradient is whole when its first user's backward ran, which is the last.
void check_tied(const Plan& plan,
                const ModuleTree& tree,
                const std::vector<std::string>& items,
                const std::map<std::string, size_t>& bucket_of) {
  std::map<std::string, size_t> stage_of;
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (const std::string& item : plan.stages[s].items) stage_of[item] = s;
  std::map<const Parameter*, std::string> first_user;
  for (const std::string& item : items)
    for (const Parameter* parameter :
         tree.parameters_of(*tree.find_module(item))) {
      const auto [found, is_first] = first_user.emplace(parameter, item);
      if (is_first) continue;
      const std::string& first = found->second;
      TITAN_USER_CHECK(stage_of[first] == stage_of[item],
                       "[parallel.pp] ",
                       parameter->fqn,
                       " is tied: expected its users ",
                       first,
                       " and ",
                       item,
                       " in one stage, got stages ",
                       stage_of[first],
                       " and ",
                       stage_of[item],
                       ". Its gradient would be a sum over stages, which is "
                       "not executed yet. Use pp 1 or untie it.");
      TITAN_USER_CHECK(bucket_of.at(first) <= bucket_of.at(item),
                       "[plan data.buckets] ",
                       parameter->fqn,
                       " is tied: expected the bucket of ",
                       first,
                       " before that of ",
                       item,
                       ", got it behind");
    }
}

// ---- tensor ----

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> found;
  for (int64_t i = 1; i <= number; ++i)
    if (number % i == 0) found.push_back(i);
  return found;
}

void check_cut(const Parameter& parameter, int64_t dim, int64_t tp) {
  TITAN_USER_CHECK(
      dim >= 0 && dim < static_cast<int64_t>(parameter.shape.size()),
      "[plan tensor] dim of ",
      parameter.fqn,
      " with shape ",
      parameter.shape,
      ": expected one of its dimensions, got ",
      dim);
  const int64_t extent = parameter.shape[static_cast<size_t>(dim)];
  const int64_t units = extent / parameter.shard_granule;
  TITAN_USER_CHECK(extent % parameter.shard_granule == 0 && units % tp == 0,
                   "[parallel.tp] ",
                   parameter.fqn,
                   " has ",
                   units,
                   " units of ",
                   parameter.shard_granule,
                   " in dimension ",
                   dim,
                   ": expected one of ",
                   divisors(units),
                   ", got ",
                   tp);
}

void check_tensor(const Plan& plan, const ModuleTree& tree) {
  std::map<const Parameter*, int64_t> dim_of;
  for (const ParameterCut& cut : plan.cuts) {
    TITAN_USER_CHECK(count_matches(cut.match, tree.parameters()) > 0,
                     "[plan tensor.parameters] pattern '",
                     cut.match,
                     "': expected it to match a parameter, got none");
    for (const auto& parameter : tree.parameters()) {
      if (!op::fqn_matches(cut.match, parameter->fqn)) continue;
      TITAN_USER_CHECK(dim_of.emplace(parameter.get(), cut.dim).second,
                       "[plan tensor.parameters] ",
                       parameter->fqn,
                       ": expected one cut, got a second from pattern '",
                       cut.match,
                       "'");
      check_cut(*parameter, cut.dim, plan.mesh.tp);
    }
  }
  for (const ModuleTransition& transition : plan.transitions)
    TITAN_USER_CHECK(count_matches(transition.match, tree.modules()) > 0,
                     "[plan tensor.modules] pattern '",
                     transition.match,
                     "': expected it to match a module, got none");
}

// ---- recompute ----

void check_recompute(const Plan& plan, const std::vector<std::string>& items) {
  for (const RecomputeRule& rule : plan.recompute) {
    TITAN_USER_CHECK(std::any_of(items.begin(),
                                 items.end(),
                                 [&](const std::string& item) {
                                   return op::fqn_matches(rule.match, item);
                                 }),
                     "[plan recompute.rules] pattern '",
                     rule.match,
                     "': expected it to match an item, got none of ",
                     items);
    TITAN_USER_CHECK(
        rule.save_ops.empty() || rule.mode == Recompute::kSelective,
        "[plan recompute.rules] save_ops of '",
        rule.match,
        "': expected none outside selective mode, got ",
        rule.save_ops);
  }
}

}  // namespace

void validate_plan(const Plan& plan,
                   const ModuleTree& tree,
                   int64_t microbatches) {
  const std::vector<std::string> items = item_names(tree);
  check_stage_items(plan, items);
  check_towers(plan, tree);
  for (size_t s = 0; s < plan.stages.size(); ++s)
    check_actions_complete(plan.stages[s], s, microbatches);
  check_no_deadlock(plan);
  check_tied(plan, tree, items, bucket_of_items(plan, items));
  check_tensor(plan, tree);
  check_recompute(plan, items);
}

}  // namespace titan::parallel

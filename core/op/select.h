// SPDX-License-Identifier: BSD-3-Clause
// Which kernel runs. Total and deterministic:
//   pin > prefer list > static match > score > priority band > id,
// the reference last. Why each better candidate was refused is kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"

namespace titan::op {

/// What a recipe may say about an op's kernels.
struct KernelRule {
  std::string use;                  // pin: this one or an error
  std::vector<std::string> prefer;  // tried in this order first
  std::vector<std::string> deny;
  uint32_t require_flags = 0;  // TITAN_KERNEL_BATCH_INVARIANT, ...
  std::string origin;          // "recipe.yaml:14:9", for messages
};

/// A rule for the call sites whose FQN matches `pattern` ("layers.*.attention",
/// `*` = within one name, `**` = across names). Later overrides win.
struct KernelOverride {
  std::string pattern;
  std::string op_id;
  KernelRule rule;
};

struct KernelPolicy {
  std::map<std::string, KernelRule> ops;  // by op id
  std::vector<KernelOverride> overrides;
  uint32_t require_flags = 0;  // of every kernel, whatever else is said

  /// Adds TITAN_FORCE_KERNEL="op=kernel,op=kernel" as pins over everything.
  /// UserError for text of another form.
  void force(std::string_view text);
  /// Forces what the environment's TITAN_FORCE_KERNEL says, if it is set.
  void force_from_environment();
  std::map<std::string, std::string> forced;  // op id -> kernel id
};

/// What this machine has.
struct Hardware {
  uint64_t cpu_features = 0;  // TITAN_CPU_..., usable by the OS too
  uint32_t cuda_arch = 0;     // 90; 0 = no device
  static const Hardware& current();
};

struct Candidate {
  std::string kernel_id;
  int32_t score = 0;
  int32_t priority = 0;
  bool is_chosen = false;
  std::string reason;  // why not, or why chosen
};

struct Selection {
  std::shared_ptr<const Kernel> kernel;
  std::vector<Candidate> candidates;  // best first
};

/// Does an FQN match a pattern of an override?
bool fqn_matches(std::string_view pattern, std::string_view fqn);
/// UserError with `where` in front for text that can match no FQN, such as a
/// regular expression.
void check_fqn_pattern(std::string_view pattern, std::string_view where);

/// One per model instance. Immutable but for the record of used patterns.
class KernelSelector {
 public:
  /// UserError for a pin, preference or forced name that no kernel has.
  KernelSelector(std::shared_ptr<const KernelRegistry> registry,
                 KernelPolicy policy,
                 Hardware hardware = Hardware::current());

  /// Chooses for one call site and one shape class. UserError when a pin cannot
  /// run here. `needs_backward` refuses kernels without one. Pure but for
  /// marking overrides as used. [thread: any]
  Selection select(const OpSpec& spec,
                   const Attributes& attributes,
                   const std::vector<TensorMeta>& inputs,
                   std::string_view fqn,
                   bool needs_backward = false) const;

  /// Marks which overrides the call site `fqn` of `op_id` meets. Slots do so at
  /// construction, so that check_all_used works before the first step.
  void note_site(std::string_view fqn, std::string_view op_id) const;
  /// UserError naming the first override that matched no call site.
  void check_all_used() const;

  /// Honours TITAN_FORCE_KERNEL; has only the references.
  static std::shared_ptr<const KernelSelector> reference_only();

 private:
  KernelRule rule_for(std::string_view fqn, std::string_view op_id) const;

  std::shared_ptr<const KernelRegistry> registry_;
  KernelPolicy policy_;
  Hardware hardware_;
  struct Used;
  std::shared_ptr<Used> used_;
};

}  // namespace titan::op

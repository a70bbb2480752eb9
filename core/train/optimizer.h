// SPDX-License-Identifier: BSD-3-Clause
// The host's half of an optimizer: groups by FQN pattern, state tensors, the
// scalars on the device. The plugin's half updates (titan_optimizer_table).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <titan/abi.h>

#include "core/config/component_config.h"
#include "core/parallel/engine.h"

namespace titan::train {

/// optimizer.groups: what differs from the defaults, first match wins.
struct GroupRule {
  std::vector<std::string> match;  // FQN patterns
  double lr_multiplier = 1.0;
  double weight_decay;  // NaN: the optimizer's own
  bool is_frozen = false;
};

/// Marks parameters that a frozen group matches as not trainable. UserError for
/// a pattern that matches no parameter or is none, and when nothing is left to
/// train. Before the engine is built.
void apply_frozen(module::ModuleTree& tree,
                  const std::vector<GroupRule>& rules);

struct OptimizerState {
  std::string name;  // "exp_avg"
  at::Tensor value;  // shape of the part's master unless the spec says other
  bool is_like_parameter = true;  // else every rank of the part holds it whole
};

class Optimizer {
 public:
  Optimizer(const titan_optimizer_table& table,
            const titan_host_api& host,
            std::shared_ptr<const void> keepalive,
            std::string id,
            config::Value config,
            const std::vector<GroupRule>& rules,
            const parallel::ParameterEngine& engine);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  double base_lr() const { return base_lr_; }

  /// Updates masters and states. Gradients are multiplied by grad_scale.
  /// Parameters that no backward reached are left alone.
  void step(double lr, int64_t step, const at::Tensor& grad_scale);

  /// States of the engine's part `i`, in the plugin's order.
  std::vector<OptimizerState>& states(size_t i) { return states_[i]; }
  int64_t bytes_states() const;

  /// One line per parameter: group, lr multiplier, weight decay, frozen.
  std::string describe() const;

 private:
  struct Group {
    double lr_multiplier = 1.0;
    double weight_decay = 0;
    std::vector<size_t> parts;
  };
  void make_states(size_t part);

  const titan_optimizer_table& table_;
  std::shared_ptr<const void> keepalive_;
  std::string id_;
  config::ComponentConfig config_;
  titan_object* object_ = nullptr;
  const parallel::ParameterEngine& engine_;
  double base_lr_ = 0;
  std::vector<Group> groups_;
  std::vector<std::vector<OptimizerState>> states_;
};

}  // namespace titan::train

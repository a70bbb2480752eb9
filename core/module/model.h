// SPDX-License-Identifier: BSD-3-Clause
// A model plugin's object with the tree it built. A process can hold several
// (ranks as threads, policy and reference, teacher): nothing is a singleton.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <titan/abi.h>

#include "core/config/component_config.h"
#include "core/module/transform.h"
#include "core/module/tree.h"

namespace titan::module {

/// One line of the checkpoint key map (titan_key_rule with owned text).
struct KeyRule {
  int32_t transform = TITAN_KEY_IDENTITY;
  std::string native;
  std::string hf;
  int64_t arg0 = 0, arg1 = 0, arg2 = 0;
  int64_t num_groups = 1;
  bool is_transposed = false;
  bool is_alternative = false;
};

class Model {
 public:
  /// Creates and builds. `table` and `host` outlive the model; `keepalive`
  /// holds the plugin's library. UserError when the plugin refuses the config
  /// or left keys of it unread.
  Model(const titan_model_table& table,
        const titan_host_api& host,
        std::shared_ptr<const void> keepalive,
        std::string id,
        config::Value config,
        std::shared_ptr<const op::KernelSelector> selector);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::string& id() const { return id_; }
  ModuleTree& tree() { return tree_; }
  const ModuleTree& tree() const { return tree_; }
  const config::Value& config() const { return config_.value(); }

  /// Lets the transform edit the tree. At most one, before anything is planned.
  void apply(std::unique_ptr<Transform> transform);
  /// Null when there is none.
  const Transform* transform() const { return transform_.get(); }

  /// Forward + backward, per token (the model's own formula).
  double flops_per_token(int64_t seq_len) const;
  /// config.json for Hugging Face, as JSON text.
  std::string config_to_hf() const;
  std::vector<KeyRule> key_rules() const;

 private:
  const titan_model_table& table_;
  std::shared_ptr<const void> keepalive_;
  std::string id_;
  config::ComponentConfig config_;
  titan_object* object_ = nullptr;
  std::unique_ptr<Transform> transform_;  // its code outlives the tree
  ModuleTree tree_;
};

/// Hugging Face's config.json -> the model's config. UserError from the plugin
/// for what it cannot express.
config::Value config_from_hf(const titan_model_table& table,
                             const titan_host_api& host,
                             const std::string& id,
                             const config::Value& hf);

}  // namespace titan::module

// SPDX-License-Identifier: BSD-3-Clause
// A transform plugin's object (kind titan.transform/1): it has edited one
// model's tree and answers for what it added. Owned by the Model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <titan/abi/transform.h>

#include "core/config/component_config.h"
#include "core/module/tree.h"

namespace titan::module {

class Transform {
 public:
  /// `table` and `host` outlive it; `keepalive` holds the plugin's library.
  /// UserError when the plugin refuses the config or left keys of it unread.
  Transform(const titan_transform_table& table,
            const titan_host_api& host,
            std::shared_ptr<const void> keepalive,
            std::string id,
            config::Value config);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  const std::string& id() const { return id_; }

  /// Once. UserError with what the plugin says.
  void apply(ModuleTree& tree);

  /// `values`: of the leaf's parameters, then of its adapter's, whole.
  /// Values of the adapter's parameters that follow from the leaf's; undefined
  /// where there are none.
  std::vector<at::Tensor> derive(const Module& leaf,
                                 const std::vector<at::Tensor>& values) const;
  /// The leaf's parameters with the adapter worked in. UserError when this
  /// transform has nothing to merge.
  std::vector<at::Tensor> merge(const Module& leaf,
                                const std::vector<at::Tensor>& values) const;

  /// Content of adapter_config.json; `modules` is a JSON list of the adapted
  /// modules' names on the other side. UserError without such files.
  std::string describe_file(const std::string& modules) const;
  /// UserError when the text is of another transform or other settings.
  void check_file(const std::string& config) const;

 private:
  const titan_transform_table& table_;
  std::shared_ptr<const void> keepalive_;
  std::string id_;
  config::ComponentConfig config_;
  titan_object* object_ = nullptr;
};

}  // namespace titan::module

// SPDX-License-Identifier: BSD-3-Clause
// The `config` section of one component as its plugin reads it: the host side
// of titan_config_api. Every read is recorded, so that a key that the plugin
// never looked at becomes an error instead of an option without effect.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <titan/abi.h>

#include "core/config/value.h"

namespace titan::config {

class ComponentConfig {
 public:
  /// `where` ("model.config") starts the messages and the paths of unread().
  ComponentConfig(Value value, std::string where);

  const Value& value() const { return value_; }
  const titan_config* as_abi() const {
    return reinterpret_cast<const titan_config*>(this);
  }
  /// Dotted paths of leaves that a person set and nobody read.
  std::vector<std::string> unread() const;

  // For the table.
  const Value* find(std::string_view path) const;
  const Value& require(std::string_view path, std::string_view expected) const;
  std::string_view keep(std::string text) const;

 private:
  void mark(std::string_view path) const;

  Value value_;
  std::string where_;
  mutable std::mutex mutex_;
  mutable std::set<std::string, std::less<>> read_;
  mutable std::set<std::string> kept_;  // JSON handed out, until destruction
};

/// The table that plugins call; one per process. [thread: any]
const titan_config_api& config_api();

}  // namespace titan::config

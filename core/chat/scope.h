// SPDX-License-Identifier: BSD-3-Clause
// Variables while a template runs: a scope per loop turn, macro call and block,
// inside the one where its text stands (lexical, as jinja2 resolves names).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chat/object.h"
#include "core/chat/value.h"

namespace titan::chat {

class Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent) : parent_(std::move(parent)) {}

  /// Null where neither this scope nor one around it has the name.
  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->parent_.get())
      for (const auto& [known, value] : scope->variables_)
        if (known == name) return &value;
    return nullptr;
  }
  /// In this scope, whatever those around it have.
  void set(std::string_view name, Value value) {
    for (auto& [known, old] : variables_)
      if (known == name) {
        old = std::move(value);
        return;
      }
    variables_.emplace_back(name, std::move(value));
  }
  void clear() { variables_.clear(); }

 private:
  std::shared_ptr<Scope> parent_;
  std::vector<std::pair<std::string, Value>> variables_;
};

using ScopePointer = std::shared_ptr<Scope>;

/// The one value that changes. The interpreter owns all of them, so that those
/// that hold each other are freed.
class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "namespace"; }
  Value attribute(std::string_view name) const override {
    const Value* found = values_.find_name(name);
    return found ? *found : Object::attribute(name);
  }
  void set(std::string_view name, Value value) {
    values_.set(name, std::move(value));
  }
  void clear() { values_ = {}; }

 private:
  Dict values_;
};

/// `loop` inside a for.
class Loop final : public Object {
 public:
  Loop(std::shared_ptr<const List> items, const Extent& extent)
      : items_(std::move(items)), extent_(extent) {}
  std::string_view type_name() const override { return "loop"; }
  Value attribute(std::string_view name) const override;
  Extent extent() const override { return extent_; }
  void advance() { ++index_; }

 private:
  std::shared_ptr<const List> items_;
  Extent extent_;
  int64_t index_ = 0;
};

}  // namespace titan::chat

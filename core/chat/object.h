// SPDX-License-Identifier: BSD-3-Clause
// Values with behaviour: functions, macros, methods bound to a receiver,
// namespaces, `loop`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chat/budget.h"
#include "core/chat/value.h"

namespace titan::chat {

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Object {
 public:
  virtual ~Object() = default;
  /// "loop", "namespace", ... for messages.
  virtual std::string_view type_name() const = 0;
  /// Undefined where there is none.
  virtual Value attribute(std::string_view name) const;
  virtual bool is_callable() const { return false; }
  virtual Value call(const CallArguments& arguments, Budget& budget);
  /// Of the values it holds, unless the interpreter owns it.
  virtual Extent extent() const { return {}; }
};

/// A function of C++.
class Function : public Object {
 public:
  using Body = Value (*)(const CallArguments& arguments, Budget& budget);
  Function(std::string name, Body body) : name_(std::move(name)), body_(body) {}
  std::string_view type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments& arguments, Budget& budget) override {
    return body_(arguments, budget);
  }

 private:
  std::string name_;
  Body body_;
};

/// Matches arguments with the names of parameters as Python does.
class Parameters {
 public:
  /// Problem: too many, unknown, given twice, or one of the first
  /// `num_required` missing. `callee` is for messages.
  Parameters(std::string_view callee,
             const CallArguments& arguments,
             std::vector<std::string_view> names,
             size_t num_required = 0);

  /// Null where it was not given.
  const Value* find(size_t index) const { return values_[index]; }
  /// Given and not none.
  bool has(size_t index) const {
    return values_[index] && !values_[index]->is_none();
  }
  const Value& value(size_t index) const { return *values_[index]; }
  /// The argument in its type, or `otherwise` where it is missing or none.
  int64_t integer(size_t index, int64_t otherwise) const;
  bool boolean(size_t index, bool otherwise) const;
  std::string string(size_t index, std::string_view otherwise) const;

 private:
  std::string_view callee_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

}  // namespace titan::chat

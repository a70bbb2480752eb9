// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/object.h"

#include <algorithm>

#include "core/chat/problem.h"

namespace titan::chat {

Value Object::attribute(std::string_view name) const {
  return Value::undefined(
      text("'", type_name(), "' has no attribute '", name, "'"));
}

Value Object::call(const CallArguments&, Budget&) {
  fail("'", type_name(), "' cannot be called");
}

Parameters::Parameters(std::string_view callee,
                       const CallArguments& arguments,
                       std::vector<std::string_view> names,
                       size_t num_required)
    : callee_(callee), names_(std::move(names)), values_(names_.size()) {
  if (arguments.positional.size() > names_.size())
    fail(callee,
         ": expected at most ",
         names_.size(),
         " arguments, got ",
         arguments.positional.size());
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) fail(callee, ": unknown argument '", name, "'");
    const Value*& slot = values_[found - names_.begin()];
    if (slot) fail(callee, ": argument '", name, "' given twice");
    slot = &value;
  }
  for (size_t i = 0; i < num_required; ++i)
    if (!values_[i]) fail(callee, ": missing argument '", names_[i], "'");
}

int64_t Parameters::integer(size_t index, int64_t otherwise) const {
  if (!has(index)) return otherwise;
  const Value& given = value(index);
  if (!given.is_integer() && !given.is_boolean())
    fail(callee_,
         ": argument '",
         names_[index],
         "': expected an integer, got ",
         given.type_name());
  return given.integer();
}

bool Parameters::boolean(size_t index, bool otherwise) const {
  return values_[index] ? value(index).is_true() : otherwise;
}

std::string Parameters::string(size_t index, std::string_view otherwise) const {
  if (!has(index)) return std::string(otherwise);
  const Value& given = value(index);
  if (!given.is_string())
    fail(callee_,
         ": argument '",
         names_[index],
         "': expected a string, got ",
         given.type_name());
  return given.string();
}

}  // namespace titan::chat

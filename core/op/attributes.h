// SPDX-License-Identifier: BSD-3-Clause
// Named constants bound to a call site of an op, such as eps or scale.
// Ordered by declaration, so that equal attributes compare and hash equal.
// OpSpec (spec.h) says which names an op knows; bind_attributes checks them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <titan/abi/types.h>

namespace titan::op {

using AttributeValue = std::variant<int64_t,
                                    double,
                                    bool,
                                    std::string,
                                    std::vector<int64_t>,
                                    std::vector<double>>;

/// "int", "float", "bool", "string", "list of int", "list of float".
std::string_view type_name(const AttributeValue& value);

/// The value as it would stand in a recipe.
std::string to_text(const AttributeValue& value);

class Attributes {
 public:
  using Item = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Item> items);

  /// Copies; throws UserError for a repeated name or a kind that no attribute
  /// can have (tensor, none).
  static Attributes from_abi(std::span<const titan_attribute> attributes);

  /// Adds or replaces.
  void set(std::string name, AttributeValue value);
  /// Null when absent.
  const AttributeValue* find(std::string_view name) const;

  /// Typed reads. Throw BugError when absent or of another type: after
  /// bind_attributes every declared name is there with its declared type.
  int64_t get_int(std::string_view name) const;
  double get_double(std::string_view name) const;
  bool get_bool(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_int_list(std::string_view name) const;
  const std::vector<double>& get_double_list(std::string_view name) const;

  const std::vector<Item>& items() const { return items_; }
  bool empty() const { return items_.empty(); }

  /// Borrowed view for a plugin; valid while this object lives unchanged.
  std::vector<titan_attribute> to_abi() const;

  bool operator==(const Attributes&) const = default;
  uint64_t hash() const;
  /// "eps=1e-05 offset=0": for messages and `titan kernels explain`.
  std::string text() const;

 private:
  std::vector<Item> items_;
};

/// The candidate closest to `word` by edit distance; empty when none is near.
std::string nearest_name(std::string_view word,
                         std::span<const std::string> candidates);

}  // namespace titan::op

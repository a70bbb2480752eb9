// SPDX-License-Identifier: BSD-3-Clause
// Reading values: attributes, items, slices, iteration. The rules are those of
// jinja2's sandbox: `x.name` looks for a method first and for a key then,
// `x["name"]` the other way round, and what is not there is undefined.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/chat/budget.h"
#include "core/chat/unicode_text.h"
#include "core/chat/value.h"

namespace titan::chat {

/// Problem: `value` is undefined.
Value get_attribute(const Value& value, std::string_view name);
Value get_item(const Value& value, const Value& key);
Value get_slice(const Value& value, const Slice& slice, Budget& budget);
/// `path` as filters take it: "a.b.0", or an integer.
Value get_path(const Value& value, const Value& path);

/// Items that stay alive as long as this: a loop over `*iterate(...)` would
/// read what is gone.
class Items {
 public:
  explicit Items(std::shared_ptr<const List> list) : list_(std::move(list)) {}
  List::const_iterator begin() const { return list_->begin(); }
  List::const_iterator end() const { return list_->end(); }
  size_t size() const { return list_->size(); }
  bool empty() const { return list_->empty(); }
  const Value& operator[](size_t index) const { return (*list_)[index]; }
  const std::shared_ptr<const List>& list() const { return list_; }

 private:
  std::shared_ptr<const List> list_;
};

/// Problem: `value` is undefined.
void require_defined(const Value& value);

/// The items of a list, the keys of a dict, the characters of a string; none of
/// what is undefined. Problem: anything else.
Items iterate(const Value& value, Budget& budget);
/// len(value). Problem: it has none.
size_t length_of(const Value& value);

/// str(value) that keeps markup: what filters on text begin with.
std::string text_of(const Value& value, Budget& budget);

}  // namespace titan::chat

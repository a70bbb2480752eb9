// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/methods.h"

#include <algorithm>
#include <initializer_list>

#include "core/chat/access.h"
#include "core/chat/problem.h"

namespace titan::chat {
namespace {

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class BoundMethod final : public Object {
 public:
  BoundMethod(Value receiver, const Method& method)
      : receiver_(std::move(receiver)), method_(method) {}
  std::string_view type_name() const override { return "method"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments& arguments, Budget& budget) override {
    return method_.body(receiver_, arguments, budget);
  }
  Extent extent() const override { return receiver_.extent(); }

 private:
  Value receiver_;
  const Method& method_;
};

Value dict_get(const Value& dict, const CallArguments& arguments, Budget&) {
  const Parameters given("get", arguments, {"key", "default"}, 1);
  if (const Value* found = dict.dict().find(given.value(0))) return *found;
  return given.find(1) ? given.value(1) : Value();
}

Value dict_items(const Value& dict,
                 const CallArguments& arguments,
                 Budget& budget) {
  const Parameters given("items", arguments, {});
  List items;
  for (const auto& [key, value] : dict.dict().entries())
    items.push_back(Value::tuple({key, value}));
  budget.charge_items(items.size());
  return Value::sequence(std::move(items), SequenceKind::kView);
}

Value dict_keys(const Value& dict,
                const CallArguments& arguments,
                Budget& budget) {
  const Parameters given("keys", arguments, {});
  return Value::sequence(*iterate(dict, budget).list(), SequenceKind::kView);
}

Value dict_values(const Value& dict,
                  const CallArguments& arguments,
                  Budget& budget) {
  const Parameters given("values", arguments, {});
  List items;
  for (const auto& [key, value] : dict.dict().entries()) items.push_back(value);
  budget.charge_items(items.size());
  return Value::sequence(std::move(items), SequenceKind::kView);
}

// Values do not change, so they are their own copies.
Value copy(const Value& value, const CallArguments& arguments, Budget&) {
  const Parameters given("copy", arguments, {});
  return value;
}

Value list_count(const Value& list,
                 const CallArguments& arguments,
                 Budget& budget) {
  const Parameters given("count", arguments, {"value"}, 1);
  budget.step(list.extent().weight);
  return std::count_if(
      list.items().begin(), list.items().end(), [&](const Value& item) {
        return is_equal(item, given.value(0));
      });
}

Value list_index(const Value& list,
                 const CallArguments& arguments,
                 Budget& budget) {
  const Parameters given("index", arguments, {"value"}, 1);
  budget.step(list.extent().weight);
  const auto found = std::find_if(
      list.items().begin(), list.items().end(), [&](const Value& item) {
        return is_equal(item, given.value(0));
      });
  if (found == list.items().end()) fail("index: the value is not in the list");
  return found - list.items().begin();
}

constexpr Method kDictMethods[] = {{"get", dict_get},
                                   {"items", dict_items},
                                   {"keys", dict_keys},
                                   {"values", dict_values},
                                   {"copy", copy}};
constexpr Method kListMethods[] = {{"count", list_count},
                                   {"index", list_index},
                                   {"copy", copy}};

std::span<const Method> methods_of(const Value& value) {
  if (value.is_string()) return string_methods();
  if (value.is_mapping()) return dict_methods();
  if (value.is_array()) return list_methods();
  return {};
}

// What Python has here; a template that asks for it is told, not misled.
bool is_known_elsewhere(const Value& value, std::string_view name) {
  if (value.is_string())
    return is_one_of(name,
                     {"casefold",
                      "encode",
                      "expandtabs",
                      "format_map",
                      "isascii",
                      "isidentifier",
                      "isprintable",
                      "istitle",
                      "maketrans",
                      "swapcase",
                      "translate"});
  return value.is_mapping() && name == "fromkeys";
}

}  // namespace

std::span<const Method> dict_methods() {
  return kDictMethods;
}

std::span<const Method> list_methods() {
  return kListMethods;
}

bool is_unsafe_name(const Value& value, std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__")) return true;
  if (value.is_mapping())
    return is_one_of(name, {"clear", "pop", "popitem", "setdefault", "update"});
  return value.is_kind(SequenceKind::kList) && is_one_of(name,
                                                         {"append",
                                                          "clear",
                                                          "extend",
                                                          "insert",
                                                          "pop",
                                                          "remove",
                                                          "reverse",
                                                          "sort"});
}

std::optional<Value> bind_method(const Value& receiver, std::string_view name) {
  const std::span<const Method> methods = methods_of(receiver);
  const auto found =
      std::find_if(methods.begin(), methods.end(), [&](const Method& method) {
        return method.name == name;
      });
  if (found != methods.end()) {
    if (receiver.is_markup())
      fail("methods of text that `safe` or `escape` made are not supported");
    return Value(std::make_shared<BoundMethod>(receiver, *found));
  }
  if (is_known_elsewhere(receiver, name))
    fail("the method '",
         name,
         "' of a ",
         receiver.type_name(),
         " is not supported");
  return std::nullopt;
}

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
// A small JSON value for plugins: planners speak JSON, and config.json of
// Hugging Face is JSON. Objects keep their order, so the same work gives the
// same bytes. Text form: json_text.hpp (RFC 8259, depth <= 64, no duplicate
// keys).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <titan/error.h>

namespace titan {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  // Out of line: inlined copies of a recursive variant cost 0.5 s of compile
  // time in a file with thirty keys.
  Json();
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();
  Json(std::nullptr_t) {}
  template <typename Number>
  requires std::is_arithmetic_v<Number> Json(Number number) {
    if constexpr (std::is_same_v<Number, bool>)
      value_ = number;
    else if constexpr (std::is_integral_v<Number>)
      value_ = static_cast<int64_t>(number);
    else
      value_ = static_cast<double>(number);
  }
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(Array items) : value_(std::move(items)) {}

  /// {{"dim", 4096}, {"rope", Json::object({{"theta", 5e5}})}}
  static Json object(Object members = {}) {
    Json out;
    out.value_ = std::move(members);
    return out;
  }
  static Json array(Array items = {}) { return Json(std::move(items)); }

  /// Throws UserError with line and column. Depth <= 64.
  static Json parse(std::string_view text);
  /// One line, no spaces; doubles in the shortest form that reads back.
  std::string dump() const;

  bool is_null() const { return holds<std::monostate>(); }
  bool is_bool() const { return holds<bool>(); }
  bool is_int() const { return holds<int64_t>(); }
  bool is_number() const { return is_int() || holds<double>(); }
  bool is_string() const { return holds<std::string>(); }
  bool is_array() const { return holds<Array>(); }
  bool is_object() const { return holds<Object>(); }

  // Typed reads; a wrong type is a UserError naming both.
  bool flag() const { return get<bool>("a boolean"); }
  int64_t i64() const { return get<int64_t>("an integer"); }
  double f64() const {
    return is_int() ? static_cast<double>(std::get<int64_t>(value_))
                    : get<double>("a number");
  }
  const std::string& str() const { return get<std::string>("a string"); }
  const Array& items() const { return get<Array>("a list"); }
  const Object& members() const { return get<Object>("a map"); }

  /// Number of items or members; 0 for a scalar.
  std::size_t size() const {
    if (is_array()) return std::get<Array>(value_).size();
    return is_object() ? std::get<Object>(value_).size() : 0;
  }

  /// The member, or null when absent or when this is no map.
  const Json* find(std::string_view key) const {
    if (!is_object()) return nullptr;
    for (const Member& member : std::get<Object>(value_))
      if (member.first == key) return &member.second;
    return nullptr;
  }
  bool has(std::string_view key) const {
    const Json* found = find(key);
    return found != nullptr && !found->is_null();
  }
  const Json& at(std::string_view key) const {
    const Json* found = find(key);
    TITAN_USER_CHECK(found != nullptr, "[", key, "] key is missing");
    return *found;
  }
  const Json& at(std::size_t i) const {
    TITAN_USER_CHECK(
        i < items().size(), "[json] no item ", i, " in a list of ", size());
    return items()[i];
  }
  /// The member, made when absent. A null value becomes a map.
  Json& operator[](std::string_view key);
  void push_back(Json item) {
    if (is_null()) value_ = Array{};
    TITAN_USER_CHECK(is_array(), "[json] expected a list, got ", kind());
    std::get<Array>(value_).push_back(std::move(item));
  }

  // Reads with a default for absent or null members.
  int64_t i64_or(std::string_view key, int64_t otherwise) const {
    return has(key) ? at(key).i64() : otherwise;
  }
  double f64_or(std::string_view key, double otherwise) const {
    return has(key) ? at(key).f64() : otherwise;
  }
  bool flag_or(std::string_view key, bool otherwise) const {
    return has(key) ? at(key).flag() : otherwise;
  }
  std::string str_or(std::string_view key, std::string_view otherwise) const {
    return has(key) ? at(key).str() : std::string(otherwise);
  }

  bool operator==(const Json&) const = default;
  std::string_view kind() const {
    constexpr std::string_view kNames[] = {"null",
                                           "a boolean",
                                           "an integer",
                                           "a number",
                                           "a string",
                                           "a list",
                                           "a map"};
    return kNames[value_.index()];
  }

 private:
  template <typename Type>
  bool holds() const {
    return std::holds_alternative<Type>(value_);
  }
  template <typename Type>
  const Type& get(std::string_view expected) const {
    TITAN_USER_CHECK(
        holds<Type>(), "[json] expected ", expected, ", got ", kind());
    return std::get<Type>(value_);
  }
  Object& mutable_members() {
    TITAN_USER_CHECK(is_object(), "[json] expected a map, got ", kind());
    return std::get<Object>(value_);
  }
  std::
      variant<std::monostate, bool, int64_t, double, std::string, Array, Object>
          value_;
};

}  // namespace titan

#include <titan/json_text.hpp>  // parse, dump

// SPDX-License-Identifier: BSD-3-Clause
// The values of templates, with Python's meaning. Immutable, as in the sandbox
// that transformers renders in; only a namespace changes (object.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace titan::chat {

class Dict;
class Object;
class Value;
struct SequenceData;

using List = std::vector<Value>;

/// How much a value holds. Sharing lets ten lines of a template build a value
/// of 2^100 items, so every walk over a value is bounded by these.
struct Extent {
  int depth = 0;       ///< Lists (and dicts) inside each other.
  int64_t weight = 1;  ///< Values in all, long strings counting for more.
};
inline constexpr int kMaxValueDepth = 100;
inline constexpr int64_t kMaxValueWeight = 4'000'000;

/// A view is what dict.items() gives. A generator is what map, select and the
/// like give: true even when empty, without length, and used up by reading.
enum class SequenceKind { kList, kTuple, kRange, kView, kGenerator };

/// A name or attribute that is not there: false, empty, prints nothing, and any
/// other use is an error that says `what`.
struct Undefined {
  std::shared_ptr<const std::string> what;
};
struct None {};
/// UTF-8. `is_markup`: the result of `safe` or `escape`.
struct Text {
  std::shared_ptr<const std::string> bytes;
  bool is_markup = false;
};

class Value {
 public:
  /// None.
  Value() : data_(None{}) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(static_cast<int64_t>(value)) {}
  Value(int64_t value) : data_(value) {}
  Value(size_t value) : data_(static_cast<int64_t>(value)) {}
  Value(double value) : data_(value) {}
  Value(std::string value)
      : data_(Text{std::make_shared<const std::string>(std::move(value))}) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(Dict value);
  Value(std::shared_ptr<Object> value) : data_(std::move(value)) {}

  static Value undefined(std::string what);
  static Value markup(std::string value);
  /// Problem where it is too large.
  static Value sequence(List items, SequenceKind kind);
  static Value list(List items) {
    return sequence(std::move(items), SequenceKind::kList);
  }
  static Value tuple(List items) {
    return sequence(std::move(items), SequenceKind::kTuple);
  }
  static Value generator(List items) {
    return sequence(std::move(items), SequenceKind::kGenerator);
  }

  bool is_undefined() const { return holds<Undefined>(); }
  bool is_none() const { return holds<None>(); }
  bool is_boolean() const { return holds<bool>(); }
  /// Not a boolean.
  bool is_integer() const { return holds<int64_t>(); }
  bool is_float() const { return holds<double>(); }
  /// Integer, float or boolean: what Python computes with.
  bool is_number() const { return is_boolean() || is_integer() || is_float(); }
  bool is_string() const { return holds<Text>(); }
  bool is_markup() const;
  bool is_sequence() const { return holds<Sequence>(); }
  bool is_kind(SequenceKind kind) const;
  /// A list, a tuple or a range: what has indices.
  bool is_array() const;
  bool is_mapping() const { return holds<Mapping>(); }
  bool is_object() const { return holds<std::shared_ptr<Object>>(); }

  bool boolean() const { return std::get<bool>(data_); }
  /// Of a boolean or an integer.
  int64_t integer() const;
  /// Of any number.
  double number() const;
  const std::string& string() const { return *std::get<Text>(data_).bytes; }
  const List& items() const;
  SequenceKind kind() const;
  /// Reads a sequence from its start; a generator's items only once.
  std::shared_ptr<const List> take_items() const;
  const Dict& dict() const { return *std::get<Mapping>(data_); }
  const std::shared_ptr<Object>& object() const {
    return std::get<std::shared_ptr<Object>>(data_);
  }
  const std::string& undefined_text() const {
    return *std::get<Undefined>(data_).what;
  }

  bool is_true() const;
  /// As Python names it, for messages: "str", "dict", ...
  std::string_view type_name() const;
  Extent extent() const;

 private:
  using Sequence = std::shared_ptr<const SequenceData>;
  using Mapping = std::shared_ptr<const Dict>;

  template <typename T>
  bool holds() const {
    return std::holds_alternative<T>(data_);
  }

  std::variant<Undefined,
               None,
               bool,
               int64_t,
               double,
               Text,
               Sequence,
               Mapping,
               std::shared_ptr<Object>>
      data_;
};

struct SequenceData {
  List items;
  SequenceKind kind = SequenceKind::kList;
  Extent extent;
  mutable bool is_used_up = false;
};

/// In order of insertion, as Python's.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  /// Replaces the value of a key that is there. Problem: the key cannot be one
  /// (a list), or the dict grows too large.
  void set(Value key, Value value);
  /// Null where there is none, also for what cannot be a key.
  const Value* find(const Value& key) const;
  const Value* find_name(std::string_view key) const;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  const Extent& extent() const { return extent_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;
  Extent extent_{1, 1};
};

/// int(number). Problem: beyond 64 bits.
int64_t truncate_to_integer(double number);

/// Python's ==.
bool is_equal(const Value& a, const Value& b);
/// Python's <. Problem: the types have no order.
bool is_less(const Value& a, const Value& b);

}  // namespace titan::chat

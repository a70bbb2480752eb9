// SPDX-License-Identifier: BSD-3-Clause
// Value: one node of a recipe, whatever it was read from (YAML, JSON, --set, a
// schema's default), with the place it came from. Maps keep their order, so
// that what is printed looks like what was written. YAML in: document.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace titan::config {

/// Where a value was said, for messages and `titan config explain`.
struct Origin {
  enum class Kind {
    kUnknown,
    kDefault,           ///< the core schema
    kComponentDefault,  ///< the schema of the component `source`
    kFlavor,            ///< `source` is "NAME of COMPONENT"
    kFile,              ///< `source` is the file as it was named
    kOverride,          ///< --set number `line`
  };
  Kind kind = Kind::kUnknown;
  int line = 0;    ///< 1-based
  int column = 0;  ///< 1-based, in code points
  std::shared_ptr<const std::string> source;

  /// Returns "file:line:column", "--set #1", "default", "default of ID", ...
  std::string describe() const;
  /// Tells whether a person wrote it: in a file or on the command line.
  bool is_user() const {
    return kind == Kind::kFile || kind == Kind::kOverride;
  }
};

Origin file_origin(const std::string& file, int line, int column);

class Value {
 public:
  enum class Type { kNull, kBoolean, kInteger, kNumber, kString, kList, kMap };
  struct Entry;
  using List = std::vector<Value>;
  using Map = std::vector<Entry>;

  // All defined where Entry is complete: clang instantiates vector<Entry> in
  // them.
  Value();
  explicit Value(bool value);
  explicit Value(int value);
  explicit Value(std::int64_t value);
  explicit Value(double value);
  explicit Value(const char* value);
  explicit Value(std::string value);
  explicit Value(List value);
  explicit Value(Map value);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  static Value empty_map();

  Type type() const { return static_cast<Type>(data_.index()); }
  bool is_null() const { return type() == Type::kNull; }
  bool is_boolean() const { return type() == Type::kBoolean; }
  bool is_integer() const { return type() == Type::kInteger; }
  /// True for integers too: they read as numbers.
  bool is_number() const { return type() == Type::kNumber || is_integer(); }
  bool is_string() const { return type() == Type::kString; }
  bool is_list() const { return type() == Type::kList; }
  bool is_map() const { return type() == Type::kMap; }

  /// Each throws BugError when the type is another one; as_number takes
  /// integers.
  bool as_boolean() const;
  std::int64_t as_integer() const;
  double as_number() const;
  const std::string& as_string() const;
  const List& as_list() const;
  List& as_list();
  const Map& as_map() const;
  Map& as_map();

  /// Returns the member named `key` of this map, or null; null for non-maps.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Returns the value at a dotted path (path.h), or null.
  const Value* at_path(std::string_view path) const;
  /// Sets the member `key` of this map and returns it.
  Value& set(std::string key, Value value);
  void erase(std::string_view key);

  const Origin& origin() const { return origin_; }
  Value& with_origin(Origin origin);
  /// Gives this value and everything in it one origin.
  void set_origin_everywhere(const Origin& origin);

  /// Equality of content: origins and the order of map keys do not count, and
  /// 1 differs from 1.0.
  bool operator==(const Value& other) const;

  /// Canonical JSON: keys sorted by bytes, no blanks, shortest doubles that
  /// read back equal (always with '.' or 'e', so the type survives too).
  std::string to_json() const;
  /// Reads JSON text; duplicate keys, depth above 64 and integers beyond 64
  /// bits are UserErrors that start with `[where]`.
  static Value from_json(std::string_view text, const std::string& where);

 private:
  std::variant<std::monostate,
               bool,
               std::int64_t,
               double,
               std::string,
               List,
               Map>
      data_;
  Origin origin_;
};

struct Value::Entry {
  std::string key;
  Origin key_origin;
  Value value;
};

/// Returns "null", "boolean", "integer", "number", "string", "list", "map".
std::string_view type_name(Value::Type type);

/// Returns the value as a message shows it: `integer 10`, `string "no"`,
/// `map with 3 keys`; long text is cut.
std::string describe_value(const Value& value);

/// Returns `text` as a JSON string literal, quotes included.
std::string quote(std::string_view text);

/// One leaf at which two trees differ; an absent side is null.
struct Difference {
  std::string path;
  const Value* left;
  const Value* right;
};
/// Lists the leaves that differ, in the order of `left`. The pointers live as
/// long as the two trees.
std::vector<Difference> diff(const Value& left, const Value& right);

}  // namespace titan::config

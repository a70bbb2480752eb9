// SPDX-License-Identifier: BSD-3-Clause
// JSON for Value. Reading goes through nlohmann's event (SAX) interface: its
// tree keeps the last of two equal keys without a word.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/config/value.h"

namespace titan::config {
namespace {

constexpr std::size_t kMaxJsonDepth = 64;

class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(std::string where) : where_(std::move(where)) {}

  Value take() { return std::move(root_); }

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(number_integer_t value) override {
    return add(Value(static_cast<std::int64_t>(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value >
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      refuse(text("integer is too large: expected at most 64 bits signed, got ",
                  value));
    return add(Value(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override {
    return add(Value(value));
  }
  bool string(string_t& value) override { return add(Value(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Value::empty_map()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Value(Value::List{})); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!open_.back().keys.insert(name).second)
      refuse(text("key appears twice: ", quote(name)));
    open_.back().key = name;
    return true;
  }
  bool parse_error(std::size_t position,
                   const std::string&,
                   const nlohmann::detail::exception& error) override {
    refuse(text("not JSON at byte ", position, ": ", error.what()));
  }

 private:
  struct Open {
    Value value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError(text("[", where_, "] ", what));
  }

  bool open(Value container) {
    if (open_.size() >= kMaxJsonDepth)
      refuse(text("JSON is nested too deeply: expected at most ",
                  kMaxJsonDepth,
                  " levels"));
    open_.push_back({std::move(container), {}, {}});
    return true;
  }

  bool close() {
    Value done = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(done));
  }

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_list()) {
      open_.back().value.as_list().push_back(std::move(value));
    } else {
      open_.back().value.as_map().push_back(
          {std::move(open_.back().key), {}, std::move(value)});
    }
    return true;
  }

  std::string where_;
  std::vector<Open> open_;
  Value root_;
};

std::string number_text(double value) {
  TITAN_CHECK(std::isfinite(value), "[config] number is not finite");
  std::string out = text(value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  // to_chars pads exponents to two digits.
  const auto exponent = out.find('e');
  if (exponent != std::string::npos && out[exponent + 2] == '0')
    out.erase(exponent + 2, 1);
  return out;
}

void write_map(std::string& out, const Value::Map& map);

void write(std::string& out, const Value& value) {
  switch (value.type()) {
    case Value::Type::kNull:
      out += "null";
      return;
    case Value::Type::kBoolean:
      return append_text(out, value.as_boolean());
    case Value::Type::kInteger:
      return append_text(out, value.as_integer());
    case Value::Type::kNumber:
      out += number_text(value.as_number());
      return;
    case Value::Type::kString:
      out += quote(value.as_string());
      return;
    case Value::Type::kMap:
      return write_map(out, value.as_map());
    case Value::Type::kList:
      break;
  }
  out.push_back('[');
  const char* separator = "";
  for (const Value& item : value.as_list()) {
    out += separator;
    separator = ",";
    write(out, item);
  }
  out.push_back(']');
}

void write_map(std::string& out, const Value::Map& map) {
  std::vector<const Value::Entry*> entries;
  for (const Value::Entry& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
    return a->key < b->key;
  });
  out.push_back('{');
  const char* separator = "";
  for (const Value::Entry* entry : entries) {
    out += separator;
    separator = ",";
    out += quote(entry->key);
    out.push_back(':');
    write(out, entry->value);
  }
  out.push_back('}');
}

}  // namespace

std::string quote(std::string_view text) {
  // `replace`: a message about bad UTF-8 must not itself throw.
  return nlohmann::json(text).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Value::to_json() const {
  std::string out;
  write(out, *this);
  return out;
}

Value Value::from_json(std::string_view text, const std::string& where) {
  JsonBuilder builder(where);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace titan::config

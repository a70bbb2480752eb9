// SPDX-License-Identifier: BSD-3-Clause
// Json <-> text. Input is untrusted (planner requests, config.json): every read
// is bounds-checked, nesting is limited, duplicate keys and trailing text are
// errors. Included by json.hpp.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include <titan/json.hpp>

namespace titan {
namespace detail {

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Json document() {
    Json out = value(0);
    skip_space();
    expect(at_ == text_.size(), "the end");
    return out;
  }

 private:
  static constexpr int kMaxDepth = 64;

  Json value(int depth) {
    expect(depth <= kMaxDepth, "at most 64 levels");
    skip_space();
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return Json(string());
      case 't':
        return word("true", Json(true));
      case 'f':
        return word("false", Json(false));
      case 'n':
        return word("null", Json());
      default:
        return number();
    }
  }

  Json object(int depth) {
    Json::Object members;
    ++at_;
    skip_space();
    if (take('}')) return Json::object();
    do {
      skip_space();
      expect(peek() == '"', "a key in quotes");
      std::string key = string();
      for (const auto& member : members)
        expect(member.first != key, "each key once");
      skip_space();
      expect(take(':'), "':'");
      members.emplace_back(std::move(key), value(depth + 1));
      skip_space();
    } while (take(','));
    expect(take('}'), "',' or '}'");
    return Json::object(std::move(members));
  }

  Json array(int depth) {
    Json::Array items;
    ++at_;
    skip_space();
    if (take(']')) return Json::array();
    do {
      items.push_back(value(depth + 1));
      skip_space();
    } while (take(','));
    expect(take(']'), "',' or ']'");
    return Json::array(std::move(items));
  }

  Json word(std::string_view name, Json result) {
    expect(text_.substr(at_, name.size()) == name, "a value");
    at_ += name.size();
    return result;
  }

  Json number() {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    const std::size_t first = at_;
    skip_digits();
    expect(at_ > first && (text_[first] != '0' || at_ == first + 1), "a value");
    bool is_integer = true;
    if (take('.')) {
      is_integer = false;
      expect(skip_digits() > 0, "a digit");
    }
    if (peek() == 'e' || peek() == 'E') {
      is_integer = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      expect(skip_digits() > 0, "a digit");
    }
    const char* from = text_.data() + begin;
    const char* to = text_.data() + at_;
    int64_t integer = 0;
    if (is_integer && std::from_chars(from, to, integer).ec == std::errc())
      return Json(integer);
    double real = 0;
    expect(std::from_chars(from, to, real).ec == std::errc(),
           "a finite number");
    return Json(real);
  }

  std::string string() {
    std::string out;
    for (++at_; !take('"'); ++at_) {
      const char c = peek();
      expect(static_cast<unsigned char>(c) >= 0x20, "the end of a string");
      if (c != '\\')
        out.push_back(c);
      else
        escape(out);
    }
    return out;
  }

  // Leaves at_ on the last character of the escape.
  void escape(std::string& out) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    ++at_;
    if (peek() == 'u') return append_utf8(out, code_point());
    const auto i = kFrom.find(peek());
    expect(peek() != '\0' && i != std::string_view::npos, "an escape");
    out.push_back(kTo[i]);
  }

  uint32_t code_point() {
    const uint32_t high = four_hex();
    if (high < 0xd800 || high > 0xdfff) return high;
    expect(high < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u",
           "a surrogate pair");
    at_ += 2;
    const uint32_t low = four_hex();
    expect(low >= 0xdc00 && low <= 0xdfff, "a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }

  uint32_t four_hex() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      expect(digit >= 0, "four hexadecimal digits");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    return code;
  }

  static void append_utf8(std::string& out, uint32_t code) {
    const auto put = [&](uint32_t byte) {
      out.push_back(static_cast<char>(byte));
    };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  std::size_t skip_digits() {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ - begin;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t')
      ++at_;
  }
  void expect(bool holds, std::string_view what) const {
    if (holds) return;
    std::size_t line = 1;
    std::size_t column = 1;
    for (const char c : text_.substr(0, at_)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n' ? 1 : 0;
    }
    throw UserError(text("[json] ", line, ':', column, ": expected ", what));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline void append_json_string(std::string& out, std::string_view value) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte < 0x20) {
      out.append("\\u00");
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

inline void append_json_double(std::string& out, double value) {
  TITAN_USER_CHECK(
      std::isfinite(value), "[json] expected a finite number, got ", value);
  const std::size_t begin = out.size();
  append_text(out, value);
  // "1" would read back as an integer.
  if (out.find_first_of(".e", begin) == std::string::npos) out.append(".0");
}

inline void append_json(std::string& out, const Json& value) {
  if (value.is_null()) return out.append("null"), void();
  if (value.is_bool()) return append_text(out, value.flag());
  if (value.is_int()) return append_text(out, value.i64());
  if (value.is_number()) return append_json_double(out, value.f64());
  if (value.is_string()) return append_json_string(out, value.str());
  const char* separator = "";
  out.push_back(value.is_object() ? '{' : '[');
  for (std::size_t i = 0; i < value.size(); ++i, separator = ",") {
    out.append(separator);
    if (value.is_array()) {
      append_json(out, value.items()[i]);
      continue;
    }
    append_json_string(out, value.members()[i].first);
    out.push_back(':');
    append_json(out, value.members()[i].second);
  }
  out.push_back(value.is_object() ? '}' : ']');
}

}  // namespace detail

[[gnu::cold]] inline Json::Json() = default;
[[gnu::cold]] inline Json::Json(const Json&) = default;
[[gnu::cold]] inline Json::Json(Json&&) noexcept = default;
[[gnu::cold]] inline Json& Json::operator=(const Json&) = default;
[[gnu::cold]] inline Json& Json::operator=(Json&&) noexcept = default;
[[gnu::cold]] inline Json::~Json() = default;

[[gnu::cold]] inline Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  auto& all = mutable_members();
  for (Member& member : all)
    if (member.first == key) return member.second;
  return all.emplace_back(std::string(key), Json()).second;
}

inline Json Json::parse(std::string_view text) {
  return detail::JsonReader(text).document();
}

inline std::string Json::dump() const {
  std::string out;
  detail::append_json(out, *this);
  return out;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/string_format.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/chat/problem.h"
#include "core/chat/python_text.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

// Longer fields are no layout but an attack on memory.
constexpr int64_t kMaxWidth = 1000;

struct Field {
  bool is_left = false;
  bool has_zeros = false;
  int64_t width = 0;
  int64_t precision = -1;
  char kind = 's';
};

int64_t read_number(std::string_view pattern, size_t& at) {
  int64_t number = 0;
  while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') {
    number = number * 10 + (pattern[at++] - '0');
    if (number > kMaxWidth)
      fail("a format's width: expected at most ", kMaxWidth);
  }
  return number;
}

// `at` is behind the percent sign.
Field read_field(std::string_view pattern, size_t& at) {
  Field field;
  for (; at < pattern.size(); ++at) {
    if (pattern[at] == '-')
      field.is_left = true;
    else if (pattern[at] == '0')
      field.has_zeros = true;
    else
      break;
  }
  field.width = read_number(pattern, at);
  if (at < pattern.size() && pattern[at] == '.')
    field.precision = read_number(pattern, ++at);
  if (at == pattern.size()) fail("a format ends behind its \"%\"");
  field.kind = pattern[at++];
  return field;
}

std::string number_text(const Field& field, const Value& value) {
  if (!value.is_number())
    fail("format %",
         std::string(1, field.kind),
         ": expected a number, got ",
         value.type_name());
  char buffer[1500];
  if (field.kind == 'f') {
    const int precision =
        field.precision < 0 ? 6 : static_cast<int>(field.precision);
    std::snprintf(buffer, sizeof buffer, "%.*f", precision, value.number());
    return buffer;
  }
  if (field.precision >= 0) fail("format: a precision of an integer");
  if (field.kind == 'x' && (value.is_float() || value.integer() < 0))
    fail("format %x: expected an integer from 0");
  const int64_t number =
      value.is_float() ? truncate_to_integer(value.number()) : value.integer();
  const int base = field.kind == 'x' ? 16 : 10;
  return {buffer, std::to_chars(buffer, buffer + 70, number, base).ptr};
}

std::string field_text(const Field& field, const Value& value, Budget& budget) {
  switch (field.kind) {
    case 's': {
      const std::string all = to_text(value, budget);
      return field.precision < 0
                 ? all
                 : all.substr(0, byte_offset(all, field.precision));
    }
    case 'r': {
      const std::string in_list = to_text(Value::list({value}), budget);
      return in_list.substr(1, in_list.size() - 2);
    }
    case 'd':
    case 'i':
    case 'f':
    case 'x':
      return number_text(field, value);
    default:
      fail("format %", std::string(1, field.kind), " is not supported");
  }
}

}  // namespace

std::string pad_text(std::string_view text,
                     char align,
                     int64_t missing,
                     std::string_view fill,
                     Budget& budget) {
  budget.charge_bytes(text.size());
  budget.charge_bytes(static_cast<size_t>(missing) * fill.size());
  std::string filling;
  for (int64_t i = 0; i < missing; ++i) filling += fill;
  if (align == '<') return titan::text(text, filling);
  if (align == '>') return titan::text(filling, text);
  if (align == '=') {
    const bool has_sign = text.starts_with('-') || text.starts_with('+');
    return titan::text(
        text.substr(0, has_sign), filling, text.substr(has_sign));
  }
  // str.center puts the odd one before where the width is odd.
  const int64_t width = missing + static_cast<int64_t>(count_characters(text));
  const size_t left =
      static_cast<size_t>(missing / 2 + (missing & width & 1)) * fill.size();
  return titan::text(std::string_view(filling).substr(0, left),
                     text,
                     std::string_view(filling).substr(left));
}

std::string format_percent(std::string_view pattern,
                           const Value& values,
                           Budget& budget) {
  const bool is_many = values.is_kind(SequenceKind::kTuple);
  size_t num_used = 0;
  std::string out;
  for (size_t at = 0; at < pattern.size();) {
    const size_t percent = std::min(pattern.find('%', at), pattern.size());
    out.append(pattern, at, percent - at);
    if (percent == pattern.size()) break;
    at = percent + 1;
    const Field field = read_field(pattern, at);
    if (field.kind == '%') {
      out += '%';
      continue;
    }
    if (num_used >= (is_many ? values.items().size() : 1))
      fail("format: not enough values for \"", pattern, '"');
    const Value& value = is_many ? values.items()[num_used] : values;
    ++num_used;
    const std::string text = field_text(field, value, budget);
    const bool is_number = field.kind != 's' && field.kind != 'r';
    const char align = field.is_left                  ? '<'
                       : field.has_zeros && is_number ? '='
                                                      : '>';
    const auto size = static_cast<int64_t>(count_characters(text));
    out += pad_text(text,
                    align,
                    std::max<int64_t>(0, field.width - size),
                    align == '=' ? "0" : " ",
                    budget);
  }
  // A dict or list may be left over: Python takes it for named values.
  const bool may_be_left =
      values.is_mapping() || (values.is_sequence() && !is_many);
  if (num_used < (is_many ? values.items().size() : 1) && !may_be_left)
    fail("format: more values than \"", pattern, "\" takes");
  budget.charge_bytes(out.size());
  return out;
}

std::string format_braces(std::string_view pattern,
                          const CallArguments& arguments,
                          Budget& budget) {
  std::string out;
  size_t next = 0;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    const bool is_double = at + 1 < pattern.size() && pattern[at + 1] == c;
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (is_double) {
      out += pattern[at++];
      continue;
    }
    const size_t end = pattern.find('}', at);
    if (c == '}' || end == std::string_view::npos)
      fail("format: a single brace in \"", pattern, '"');
    const std::string_view name = pattern.substr(at + 1, end - at - 1);
    if (name.find_first_of("!:.[{") != std::string_view::npos)
      fail("format: \"{", name, "}\" is not supported");
    at = end;
    size_t index = 0;
    const auto read =
        std::from_chars(name.data(), name.data() + name.size(), index);
    const Value* value = nullptr;
    if (name.empty()) index = next++;
    if (name.empty() || read.ptr == name.data() + name.size()) {
      if (index < arguments.positional.size())
        value = &arguments.positional[index];
    } else {
      for (const auto& [known, named] : arguments.named)
        if (known == name) value = &named;
    }
    if (!value) fail("format: no value for \"{", name, "}\"");
    out += to_text(*value, budget);
    budget.charge_bytes(out.size());
  }
  return out;
}

}  // namespace titan::chat

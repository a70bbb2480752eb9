// SPDX-License-Identifier: BSD-3-Clause
// str() and repr(). Unassigned code points, which repr() escapes, are written
// as they are: no table of them is kept here.
#include "core/chat/python_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/chat/problem.h"
#include "core/tokenizer/utf8.h"

namespace titan::chat {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Assigned code points that str.isprintable refuses: Cc, Cf, Cs, Co, Zl, Zp and
// Zs without the space (Unicode 15).
constexpr Range kNotPrintable[] = {
    {0x00, 0x1F},        {0x7F, 0xA0},       {0xAD, 0xAD},
    {0x600, 0x605},      {0x61C, 0x61C},     {0x6DD, 0x6DD},
    {0x70F, 0x70F},      {0x890, 0x891},     {0x8E2, 0x8E2},
    {0x1680, 0x1680},    {0x180E, 0x180E},   {0x2000, 0x200F},
    {0x2028, 0x202F},    {0x205F, 0x2064},   {0x2066, 0x206F},
    {0x3000, 0x3000},    {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF},
    {0xFFF9, 0xFFFB},    {0x110BD, 0x110BD}, {0x110CD, 0x110CD},
    {0x13430, 0x1343F},  {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0001, 0xE0001},  {0xE0020, 0xE007F}, {0xF0000, 0xFFFFD},
    {0x100000, 0x10FFFD}};

bool is_printable(uint32_t code_point) {
  return std::none_of(std::begin(kNotPrintable),
                      std::end(kNotPrintable),
                      [&](const Range& range) {
                        return code_point >= range.first &&
                               code_point <= range.last;
                      });
}

void append_hex(uint32_t value, int width, std::string& out) {
  for (int shift = 4 * (width - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[value >> shift & 15];
}

void append_escape(uint32_t code_point, std::string& out) {
  if (code_point == '\n')
    out += "\\n";
  else if (code_point == '\r')
    out += "\\r";
  else if (code_point == '\t')
    out += "\\t";
  else if (code_point <= 0xFF)
    append_hex(code_point, 2, out += "\\x");
  else if (code_point <= 0xFFFF)
    append_hex(code_point, 4, out += "\\u");
  else
    append_hex(code_point, 8, out += "\\U");
}

void append_string_repr(std::string_view text, std::string& out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out += quote;
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    const uint32_t code_point = next_code_point(text, position);
    if (code_point == static_cast<uint32_t>(quote) || code_point == '\\')
      out += '\\';
    if (is_printable(code_point))
      out.append(text, begin, position - begin);
    else
      append_escape(code_point, out);
  }
  out += quote;
}

class Writer {
 public:
  explicit Writer(Budget& budget) : budget_(budget) {}

  void write_repr(const Value& value) {
    budget_.step();
    const size_t before = out_.size();
    if (value.is_markup())
      write_markup(value.string());
    else if (value.is_string())
      append_string_repr(value.string(), out_);
    else if (value.is_sequence())
      write_sequence(value);
    else if (value.is_mapping())
      write_dict(value.dict());
    else
      write_scalar(value);
    if (!value.is_sequence() && !value.is_mapping())
      budget_.charge_bytes(out_.size() - before);
  }

  void write_scalar(const Value& value) {
    if (value.is_undefined())
      // repr(Undefined) is its class's name; str() is empty.
      out_ += "Undefined";
    else if (value.is_none())
      out_ += "None";
    else if (value.is_boolean())
      out_ += value.boolean() ? "True" : "False";
    else if (value.is_integer())
      append_text(out_, value.integer());
    else if (value.is_float())
      out_ += float_text(value.number());
    else
      fail("a ", value.type_name(), " cannot be printed");
  }

  std::string take() { return std::move(out_); }

 private:
  void write_markup(const std::string& text) {
    out_ += "Markup(";
    append_string_repr(text, out_);
    out_ += ')';
  }

  void write_sequence(const Value& value) {
    const bool is_tuple = value.is_kind(SequenceKind::kTuple);
    if (!is_tuple && !value.is_kind(SequenceKind::kList))
      fail("a ",
           value.type_name(),
           " cannot be printed. Make a list of it with the filter `list`");
    out_ += is_tuple ? '(' : '[';
    bool is_first = true;
    for (const Value& item : value.items()) {
      if (!is_first) out_ += ", ";
      is_first = false;
      write_repr(item);
    }
    if (is_tuple && value.items().size() == 1) out_ += ',';
    out_ += is_tuple ? ')' : ']';
  }

  void write_dict(const Dict& dict) {
    out_ += '{';
    bool is_first = true;
    for (const auto& [key, item] : dict.entries()) {
      if (!is_first) out_ += ", ";
      is_first = false;
      write_repr(key);
      out_ += ": ";
      write_repr(item);
    }
    out_ += '}';
  }

  Budget& budget_;
  std::string out_;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto scientific = std::to_chars(
      buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string digits(buffer, scientific.ptr);
  const size_t mark = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + mark + 1);
  // repr() turns to exponents below 1e-4 and from 1e16 on.
  if (exponent < -4 || exponent >= 16) return digits;
  char plain[64];
  const auto fixed = std::to_chars(
      plain, plain + sizeof plain, value, std::chars_format::fixed);
  std::string out(plain, fixed.ptr);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string to_text(const Value& value, Budget& budget) {
  if (value.is_string()) return value.string();
  if (value.is_undefined()) return {};
  Writer writer(budget);
  writer.write_repr(value);
  return writer.take();
}

}  // namespace titan::chat

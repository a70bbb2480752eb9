// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/string_literal.h"

#include <charconv>
#include <cstdint>

#include "core/chat/problem.h"
#include "core/tokenizer/utf8.h"

namespace titan::chat {
namespace {

constexpr std::string_view kEscapes = "\\'\"abfnrtv";
constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";

void append_code_point(uint32_t code_point, std::string& out) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
    fail("a string has an escape that is not a character");
  append_utf8(out, code_point);
}

// `width` hexadecimal digits from `at` on.
void append_hex_escape(std::string_view literal,
                       size_t width,
                       size_t& at,
                       std::string& out) {
  const std::string_view digits = literal.substr(at, width);
  uint32_t code_point = 0;
  const auto end = std::from_chars(
      digits.data(), digits.data() + digits.size(), code_point, 16);
  if (digits.size() != width || end.ptr != digits.data() + width)
    fail("a string has an escape without its ", width, " hexadecimal digits");
  at += width;
  append_code_point(code_point, out);
}

void append_octal_escape(std::string_view literal,
                         size_t& at,
                         std::string& out) {
  uint32_t code_point = 0;
  for (int i = 0;
       i < 3 && at < literal.size() && literal[at] >= '0' && literal[at] <= '7';
       ++i)
    code_point = code_point * 8 + static_cast<uint32_t>(literal[at++] - '0');
  append_code_point(code_point, out);
}

// `at` is behind the backslash.
void append_escape(std::string_view literal, size_t& at, std::string& out) {
  const char kind = literal[at];
  const size_t known = kEscapes.find(kind);
  if (kind >= '0' && kind <= '7') return append_octal_escape(literal, at, out);
  ++at;
  if (known != std::string_view::npos)
    out += kMeanings[known];
  else if (kind == 'x')
    append_hex_escape(literal, 2, at, out);
  else if (kind == 'u')
    append_hex_escape(literal, 4, at, out);
  else if (kind == 'U')
    append_hex_escape(literal, 8, at, out);
  else if (kind == 'N')
    fail("the escape \\N{...} is not supported. Write the character");
  else if (kind != '\n')
    // Python keeps what it does not know; a backslash newline is nothing.
    out.append({'\\', kind});
}

}  // namespace

std::string unescape_string(std::string_view literal) {
  std::string out;
  out.reserve(literal.size());
  for (size_t at = 0; at < literal.size();) {
    if (literal[at] == '\\' && at + 1 < literal.size())
      append_escape(literal, ++at, out);
    else
      out += literal[at++];
  }
  return out;
}

}  // namespace titan::chat

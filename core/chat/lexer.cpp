// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/lexer.h"

#include <algorithm>
#include <cctype>

#include "core/chat/string_literal.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

constexpr std::string_view kOperators[] = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

// As jinja2: every kind of newline is \n, and the last one goes.
std::string normalise_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_name_part(char c) {
  return is_name_start(c) || is_ascii_digit(c);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source)
      : source_(normalise_newlines(source)) {
    for (size_t i = 0; i < source_.size(); ++i)
      if (source_[i] == '\n') line_starts_.push_back(i + 1);
  }

  std::vector<Token> run() {
    while (at_ < source_.size()) lex_data();
    add(TokenKind::kEnd, {}, at_);
    return std::move(tokens_);
  }

 private:
  Position position(size_t offset) const {
    const auto line =
        std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - 1;
    return {static_cast<int>(line - line_starts_.begin()) + 1,
            static_cast<int>(offset - *line) + 1};
  }

  [[noreturn]] void fail_at(size_t offset, const std::string& what) const {
    throw SyntaxProblem(position(offset), what);
  }

  char peek(size_t offset = 0) const {
    return at_ + offset < source_.size() ? source_[at_ + offset] : '\0';
  }

  bool starts_with(std::string_view what) const {
    return std::string_view(source_).substr(at_).starts_with(what);
  }

  bool skip(std::string_view what) {
    if (!starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void skip_space() {
    const std::string_view rest = std::string_view(source_).substr(at_);
    at_ += rest.size() - strip(rest, {}, true, false).size();
  }

  void add(TokenKind kind, std::string text, size_t offset) {
    tokens_.push_back({kind, std::move(text), position(offset)});
  }

  // Text up to a tag: what its sign and lstrip_blocks leave of it.
  std::string_view trim_before(size_t begin,
                               size_t end,
                               char sign,
                               bool is_print) const {
    const std::string_view text =
        std::string_view(source_).substr(begin, end - begin);
    if (sign == '-') return strip(text, {}, false, true);
    if (sign == '+' || is_print) return text;
    const size_t newline = text.rfind('\n');
    const bool is_line_start = begin == 0 || source_[begin - 1] == '\n';
    if (newline == std::string_view::npos && !is_line_start) return text;
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    return strip(text.substr(line), {}, true, false).empty()
               ? text.substr(0, line)
               : text;
  }

  char take_sign() {
    const char sign = peek();
    if (sign != '-' && sign != '+') return '\0';
    ++at_;
    return sign;
  }

  // The end of a block tag or comment: `+%}`, `-%}` or `%}`.
  bool skip_block_end(std::string_view end) {
    const std::string closing(end);
    if (skip('+' + closing)) return true;
    if (skip('-' + closing)) {
      skip_space();
      return true;
    }
    if (!skip(end)) return false;
    skip("\n");
    return true;
  }

  void lex_data() {
    const size_t begin = at_;
    size_t tag = begin;
    do {
      tag = source_.find('{', tag);
      if (tag == std::string::npos) break;
    } while (std::string_view("{%#").find(source_[tag + 1]) ==
                 std::string_view::npos &&
             ++tag);
    if (tag == std::string::npos) tag = source_.size();
    if (tag == source_.size()) {
      add(TokenKind::kData, source_.substr(begin), begin);
      at_ = tag;
      return;
    }
    at_ = tag + 2;
    const char kind = source_[tag + 1];
    const std::string_view text =
        trim_before(begin, tag, take_sign(), kind == '{');
    if (!text.empty()) add(TokenKind::kData, std::string(text), begin);
    if (kind == '#')
      lex_comment(tag);
    else if (kind == '{')
      lex_print(tag);
    else if (!lex_raw(tag))
      lex_block(tag);
  }

  void lex_comment(size_t tag) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail_at(tag, "the comment has no end \"#}\"");
    const bool has_sign =
        end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+');
    at_ = has_sign ? end - 1 : end;
    skip_block_end("#}");
  }

  void lex_print(size_t tag) {
    add(TokenKind::kPrintBegin, "{{", tag);
    while (true) {
      skip_space();
      const size_t begin = at_;
      if (open_.empty() && (starts_with("-}}") || starts_with("}}"))) {
        if (skip("-}}"))
          skip_space();
        else
          skip("}}");
        return add(TokenKind::kPrintEnd, "}}", begin);
      }
      lex_token(tag);
    }
  }

  void lex_block(size_t tag) {
    add(TokenKind::kBlockBegin, "{%", tag);
    while (true) {
      skip_space();
      const size_t begin = at_;
      if (open_.empty() && skip_block_end("%}"))
        return add(TokenKind::kBlockEnd, "%}", begin);
      lex_token(tag);
    }
  }

  // `{% raw %}` takes everything up to `{% endraw %}` as it is.
  bool lex_raw(size_t tag) {
    const size_t start = at_;
    skip_space();
    const bool is_raw = skip("raw");
    skip_space();
    if (!is_raw || !(starts_with("-%}") || starts_with("%}"))) {
      at_ = start;
      return false;
    }
    if (skip("-%}"))
      skip_space();
    else
      skip("%}");
    const size_t begin = at_;
    for (size_t end = source_.find("{%", begin); end != std::string::npos;
         end = source_.find("{%", end + 1)) {
      at_ = end + 2;
      const char sign = take_sign();
      skip_space();
      if (!skip("endraw")) continue;
      skip_space();
      if (!skip_block_end("%}")) continue;
      const std::string_view text = trim_before(begin, end, sign, false);
      if (!text.empty()) add(TokenKind::kData, std::string(text), begin);
      return true;
    }
    fail_at(tag, "the raw block has no end");
  }

  void lex_token(size_t tag) {
    const size_t begin = at_;
    const char first = peek();
    if (at_ >= source_.size()) fail_at(tag, "the tag has no end");
    if (first == '\'' || first == '"') return lex_string();
    if (is_ascii_digit(first)) return lex_number();
    if (is_name_start(first)) {
      while (is_name_part(peek())) ++at_;
      return add(TokenKind::kName, source_.substr(begin, at_ - begin), begin);
    }
    for (const std::string_view name : kOperators) {
      if (!skip(name)) continue;
      match_bracket(name[0], begin);
      return add(TokenKind::kOperator, std::string(name), begin);
    }
    fail_at(
        begin,
        titan::text(
            "no token begins with \"",
            std::string_view(source_).substr(
                begin, byte_offset(std::string_view(source_).substr(begin), 1)),
            '"'));
  }

  void match_bracket(char bracket, size_t offset) {
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (kOpening.find(bracket) != std::string_view::npos)
      open_.push_back(bracket);
    const size_t closing = kClosing.find(bracket);
    if (closing == std::string_view::npos) return;
    if (open_.empty() || open_.back() != kOpening[closing])
      fail_at(offset, titan::text("nothing is closed by \"", bracket, '"'));
    open_.pop_back();
  }

  void lex_string() {
    const size_t begin = at_;
    const char quote = source_[at_++];
    while (at_ < source_.size() && source_[at_] != quote)
      at_ += source_[at_] == '\\' ? 2 : 1;
    if (at_ >= source_.size()) fail_at(begin, "the string has no end");
    ++at_;
    try {
      add(TokenKind::kString,
          unescape_string(
              std::string_view(source_).substr(begin + 1, at_ - begin - 2)),
          begin);
    } catch (const SyntaxProblem&) {
      throw;
    } catch (const Problem& problem) {
      fail_at(begin, problem.what());
    }
  }

  void skip_digits() {
    while (is_ascii_digit(peek()) || (peek() == '_' && is_ascii_digit(peek(1))))
      ++at_;
  }

  void lex_number() {
    const size_t begin = at_;
    // Behind a dot is an index: `x.0.1` has no fraction in it.
    const bool is_index = begin > 0 && source_[begin - 1] == '.';
    skip_digits();
    bool is_float = false;
    if (!is_index && peek() == '.' && is_ascii_digit(peek(1))) {
      is_float = true;
      ++at_;
      skip_digits();
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (!is_index && (peek() == 'e' || peek() == 'E') &&
        is_ascii_digit(peek(1 + sign))) {
      is_float = true;
      at_ += 1 + sign;
      skip_digits();
    }
    std::string digits = source_.substr(begin, at_ - begin);
    std::erase(digits, '_');
    if (!is_float && digits.size() > 1 && digits[0] == '0')
      fail_at(begin, "numbers are decimal and without leading zeros");
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger,
        std::move(digits),
        begin);
  }

  std::string source_;
  std::vector<size_t> line_starts_{0};
  std::vector<Token> tokens_;
  std::string open_;  // Brackets of the tag that is being read.
  size_t at_ = 0;
};

}  // namespace

std::vector<Token> lex_template(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace titan::chat

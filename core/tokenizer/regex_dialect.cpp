// SPDX-License-Identifier: BSD-3-Clause
// Oniguruma -> PCRE2, by a single pass over the pattern. Sources: Oniguruma's
// doc/RE and doc/SYNTAX.md, pcre2pattern(3) of 10.42.
#include "core/tokenizer/regex_dialect.h"

#include <titan/error.h>

namespace titan {
namespace {

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) step();
    if (in_class_) refuse("a character class without its end", at_);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what, size_t begin) const {
    throw UserError(text('[',
                         where_,
                         "] regular expression is not supported: ",
                         what,
                         " at offset ",
                         begin,
                         " of ",
                         pattern_));
  }

  bool starts(std::string_view prefix) const {
    return pattern_.substr(at_).starts_with(prefix);
  }

  void copy(size_t length) {
    out_.append(pattern_.substr(at_, length));
    at_ += length;
  }

  void step() {
    if (pattern_[at_] == '\\') return escape();
    if (in_class_) return class_character();
    switch (pattern_[at_]) {
      case '[':
        return open_class();
      case '(':
        return group();
      case '{':
        return interval();
      case '^':
      case '$':
        refuse("a line anchor", at_);
      default:
        copy(1);
    }
  }

  void open_class() {
    in_class_ = true;
    copy(1);
    if (starts("^")) copy(1);
    if (starts("]")) refuse("']' first in a character class", at_);
  }

  void class_character() {
    if (starts("[")) refuse("a nested or POSIX character class", at_);
    if (starts("&&")) refuse("an intersection of character classes", at_);
    if (starts("]")) in_class_ = false;
    copy(1);
  }

  // Other inline flags differ (Ruby's m is PCRE2's s); a name or a condition
  // has no place in a pattern that only splits.
  void group() {
    for (const std::string_view known :
         {"(?:", "(?i:", "(?i)", "(?=", "(?!", "(?<=", "(?<!", "(?>"})
      if (starts(known)) return copy(known.size());
    if (starts("(?") || starts("(*")) refuse("a group of this kind", at_);
    copy(1);
  }

  // {n}, {n,} and {n,m} are the same; {,m}, a literal '{' and what follows an
  // interval ({n}+ is possessive only in PCRE2) are not.
  void interval() {
    const size_t begin = at_;
    const size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) refuse("a literal '{'", begin);
    const std::string_view body = pattern_.substr(at_ + 1, end - at_ - 1);
    const bool is_plain =
        !body.empty() && body[0] >= '0' && body[0] <= '9' &&
        body.find_first_not_of("0123456789,") == std::string_view::npos &&
        body.find(',') == body.rfind(',');
    if (!is_plain) refuse("an interval other than {n}, {n,} or {n,m}", begin);
    copy(end + 1 - at_);
    if (starts("+")) refuse("'+' after an interval", at_);
  }

  void escape() {
    const size_t begin = at_;
    if (at_ + 1 >= pattern_.size()) refuse("a trailing backslash", begin);
    const char c = pattern_[at_ + 1];
    const auto code = static_cast<unsigned char>(c);
    const bool is_word = code >= 0x80 || (c >= '0' && c <= '9') ||
                         (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!is_word) return copy(2);
    switch (c) {
      case 'r':
      case 'n':
      case 't':
      case 'f':
      case 'a':
      case 'e':
      case 'd':
      case 'D':
        return copy(2);
      case 's':
        return replace(2, "\\p{White_Space}");
      case 'S':
        return replace(2, "\\P{White_Space}");
      case 'v':
        return replace(2, "\\x0b");
      case 'p':
      case 'P':
        return property();
      case 'x':
      case 'u':
        return code_point();
      default:
        refuse(text("\\", c), begin);
    }
  }

  void replace(size_t length, std::string_view with) {
    out_.append(with);
    at_ += length;
  }

  // General categories are the same. A script name means script extensions in
  // PCRE2 unless it says sc:.
  void property() {
    const size_t begin = at_;
    const size_t end = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || end == std::string_view::npos)
      refuse("a property without braces", begin);
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool is_negated = name.starts_with('^');
    if (is_negated) name.remove_prefix(1);
    const bool is_category =
        !name.empty() && name.size() <= 2 &&
        std::string_view("LMNPSZC").find(name[0]) != std::string_view::npos &&
        (name.size() == 1 || (name[1] >= 'a' && name[1] <= 'z'));
    out_.append(pattern_.substr(begin, 3));
    if (is_negated) out_.push_back('^');
    if (!is_category) out_.append("sc:");
    out_.append(name);
    out_.push_back('}');
    at_ = end + 1;
  }

  // \x{H..} and \xHH as they are, \uHHHH in PCRE2's form.
  void code_point() {
    const size_t begin = at_;
    const auto is_hex = [&](size_t from, size_t count) {
      const std::string_view digits = pattern_.substr(from, count);
      return digits.size() == count && count > 0 &&
             digits.find_first_not_of("0123456789abcdefABCDEF") ==
                 std::string_view::npos;
    };
    if (pattern_[at_ + 1] == 'u') {
      if (!is_hex(at_ + 2, 4)) refuse("\\u without four digits", begin);
      const std::string_view digits = pattern_.substr(at_ + 2, 4);
      return replace(6, text("\\x{", digits, "}"));
    }
    if (is_hex(at_ + 2, 2)) {
      // Above 7F Oniguruma reads \xHH as a raw byte, PCRE2 as a code point.
      if (pattern_[at_ + 2] > '7') refuse("\\x of a raw byte", begin);
      return copy(4);
    }
    const size_t end = pattern_.find('}', at_);
    const bool is_braced = pattern_.substr(at_ + 2, 1) == "{" &&
                           end != std::string_view::npos &&
                           is_hex(at_ + 3, end - at_ - 3);
    if (!is_braced) refuse("\\x without its digits", begin);
    copy(end + 1 - at_);
  }

  std::string_view pattern_;
  const std::string& where_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

std::string oniguruma_to_pcre2(std::string_view pattern,
                               const std::string& where) {
  return Translator(pattern, where).run();
}

}  // namespace titan

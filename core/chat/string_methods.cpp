// SPDX-License-Identifier: BSD-3-Clause
// The methods of str. Positions are code points; classes of characters and case
// are ASCII's, and other text is an error there rather than a wrong answer.
#include <algorithm>

#include "core/chat/access.h"
#include "core/chat/methods.h"
#include "core/chat/problem.h"
#include "core/chat/string_format.h"
#include "core/chat/string_split.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

template <bool kLeft, bool kRight>
Value strip_sides(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("strip", arguments, {"chars"});
  std::optional<std::string> characters;
  if (given.has(0)) characters = given.string(0, "");
  budget.charge_bytes(self.string().size());
  return strip(self.string(), characters, kLeft, kRight);
}

template <std::string (*kMap)(std::string_view)>
Value case_method(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("lower, upper, title, capitalize", arguments, {});
  budget.charge_bytes(self.string().size());
  return kMap(self.string());
}

std::string to_capitalized(std::string_view text) {
  std::string out = to_lower(text);
  if (!out.empty()) out[0] = to_upper(out.substr(0, 1))[0];
  return out;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || is_ascii_digit(c);
}

// str.title: each run of letters is a word.
std::string to_title(std::string_view text) {
  std::string out = to_lower(text);
  for (size_t i = 0; i < out.size(); ++i)
    if (is_letter(out[i]) && (i == 0 || !is_letter(out[i - 1])))
      out[i] = static_cast<char>(out[i] ^ 0x20);
  return out;
}

template <bool (*kIs)(char)>
Value is_all(const Value& self, Arguments arguments, Budget&) {
  const Parameters given("isalpha, isdigit, ...", arguments, {});
  require_ascii("a class of characters", self.string());
  return !self.string().empty() &&
         std::all_of(self.string().begin(), self.string().end(), kIs);
}

Value is_space(const Value& self, Arguments arguments, Budget&) {
  const Parameters given("isspace", arguments, {});
  return !self.string().empty() &&
         strip(self.string(), {}, true, false).empty();
}

template <char kFirst, char kLast>
Value is_case(const Value& self, Arguments arguments, Budget&) {
  const Parameters given("islower, isupper", arguments, {});
  require_ascii("case", self.string());
  bool has_letter = false;
  for (const char c : self.string()) {
    if (!is_letter(c)) continue;
    if (c < kFirst || c > kLast) return false;
    has_letter = true;
  }
  return has_letter;
}

// The part of the text that start and end (parameters 1 and 2) leave.
std::string_view selected(const Value& self, const Parameters& given) {
  const std::string_view all = self.string();
  const auto size = static_cast<int64_t>(count_characters(all));
  const auto place = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const size_t begin = byte_offset(all, place(given.integer(1, 0)));
  const size_t end = byte_offset(all, place(given.integer(2, size)));
  return begin < end ? all.substr(begin, end - begin) : std::string_view();
}

template <bool kIsStart>
Value has_affix(const Value& self, Arguments arguments, Budget&) {
  constexpr std::string_view kName = kIsStart ? "startswith" : "endswith";
  const Parameters given(kName, arguments, {"prefix", "start", "end"}, 1);
  const std::string_view all = selected(self, given);
  const auto matches = [&](const Value& affix) {
    if (!affix.is_string())
      fail(kName, ": expected a string, got ", affix.type_name());
    return kIsStart ? all.starts_with(affix.string())
                    : all.ends_with(affix.string());
  };
  if (!given.value(0).is_kind(SequenceKind::kTuple))
    return matches(given.value(0));
  const List& affixes = given.value(0).items();
  return std::any_of(affixes.begin(), affixes.end(), matches);
}

template <bool kFromEnd, bool kMustExist>
Value find_text(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("find", arguments, {"sub", "start", "end"}, 1);
  budget.charge_bytes(self.string().size());
  const std::string_view all = selected(self, given);
  const std::string part = given.string(0, "");
  const size_t found = kFromEnd ? all.rfind(part) : all.find(part);
  if (found == std::string_view::npos) {
    if (kMustExist) fail("index: the text is not in the string");
    return -1;
  }
  const size_t before = all.data() - self.string().data() + found;
  return count_characters(std::string_view(self.string()).substr(0, before));
}

Value count_text(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("count", arguments, {"sub", "start", "end"}, 1);
  budget.charge_bytes(self.string().size());
  const std::string_view all = selected(self, given);
  const std::string part = given.string(0, "");
  if (part.empty()) return count_characters(all) + 1;
  int64_t count = 0;
  for (size_t at = all.find(part); at != std::string_view::npos;
       at = all.find(part, at + part.size()))
    ++count;
  return count;
}

Value replace_method(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("replace", arguments, {"old", "new", "count"}, 2);
  return replace_all(self.string(),
                     given.string(0, ""),
                     given.string(1, ""),
                     given.integer(2, -1),
                     budget);
}

Value join_method(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("join", arguments, {"items"}, 1);
  std::string out;
  bool is_first = true;
  for (const Value& item : iterate(given.value(0), budget)) {
    if (!item.is_string())
      fail("join: expected strings, got a ", item.type_name());
    if (!is_first) out += self.string();
    is_first = false;
    out += item.string();
    budget.charge_bytes(self.string().size() + item.string().size());
  }
  return out;
}

template <bool kIsPrefix>
Value remove_affix(const Value& self, Arguments arguments, Budget&) {
  const Parameters given("removeprefix", arguments, {"affix"}, 1);
  std::string_view all = self.string();
  const std::string affix = given.string(0, "");
  if (kIsPrefix && all.starts_with(affix)) all.remove_prefix(affix.size());
  if (!kIsPrefix && all.ends_with(affix)) all.remove_suffix(affix.size());
  return all;
}

enum class Align { kLeft, kRight, kCenter, kZeros };

// str.ljust, rjust, center and zfill.
template <Align kAlign>
Value pad(const Value& self, Arguments arguments, Budget& budget) {
  const Parameters given("ljust", arguments, {"width", "fillchar"}, 1);
  const auto size = static_cast<int64_t>(count_characters(self.string()));
  const int64_t missing = std::max<int64_t>(0, given.integer(0, 0) - size);
  const std::string fill = given.string(1, kAlign == Align::kZeros ? "0" : " ");
  if (count_characters(fill) != 1) fail("expected one character to fill with");
  return pad_text(self.string(),
                  static_cast<char>("<>^="[static_cast<int>(kAlign)]),
                  missing,
                  fill,
                  budget);
}

Value format_method(const Value& self, Arguments arguments, Budget& budget) {
  return format_braces(self.string(), arguments, budget);
}

constexpr Method kMethods[] = {
    {"capitalize", case_method<to_capitalized>},
    {"center", pad<Align::kCenter>},
    {"count", count_text},
    {"endswith", has_affix<false>},
    {"find", find_text<false, false>},
    {"format", format_method},
    {"index", find_text<false, true>},
    {"isalnum", is_all<is_letter_or_digit>},
    {"isalpha", is_all<is_letter>},
    {"isdecimal", is_all<is_ascii_digit>},
    {"isdigit", is_all<is_ascii_digit>},
    {"islower", is_case<'a', 'z'>},
    {"isnumeric", is_all<is_ascii_digit>},
    {"isspace", is_space},
    {"isupper", is_case<'A', 'Z'>},
    {"join", join_method},
    {"ljust", pad<Align::kLeft>},
    {"lower", case_method<to_lower>},
    {"lstrip", strip_sides<true, false>},
    {"partition", partition},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace_method},
    {"rfind", find_text<true, false>},
    {"rindex", find_text<true, true>},
    {"rjust", pad<Align::kRight>},
    {"rpartition", rpartition},
    {"rsplit", rsplit},
    {"rstrip", strip_sides<false, true>},
    {"split", split},
    {"splitlines", splitlines},
    {"startswith", has_affix<true>},
    {"strip", strip_sides<true, true>},
    {"title", case_method<to_title>},
    {"upper", case_method<to_upper>},
    {"zfill", pad<Align::kZeros>},
};

}  // namespace

std::span<const Method> string_methods() {
  return kMethods;
}

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
// Filters from text to text, tojson among them.
#include "core/chat/access.h"
#include "core/chat/filters.h"
#include "core/chat/problem.h"
#include "core/chat/python_text.h"
#include "core/chat/string_format.h"
#include "core/chat/string_split.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

// Text that stays what it was: markup or not.
Value like(const Value& input, std::string text) {
  return input.is_markup() ? Value::markup(std::move(text))
                           : Value(std::move(text));
}

template <std::string (*kMap)(std::string_view)>
Value map_case(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("this filter", arguments, {});
  return like(input, kMap(text_of(input, budget)));
}

std::string capitalize(std::string_view text) {
  std::string out = to_lower(text);
  if (!out.empty()) out[0] = to_upper(out.substr(0, 1))[0];
  return out;
}

// Words begin behind white space and -({[<; unlike str.title, not behind
// apostrophes.
std::string title(std::string_view text) {
  std::string out = to_lower(text);
  bool is_start = true;
  for (char& c : out) {
    if (is_start && c >= 'a' && c <= 'z') c = static_cast<char>(c ^ 0x20);
    is_start = std::string_view("-({[<").find(c) != std::string_view::npos ||
               is_python_space(static_cast<unsigned char>(c));
  }
  return out;
}

Value trim(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("trim", arguments, {"chars"});
  std::optional<std::string> characters;
  if (given.has(0)) characters = given.string(0, "");
  return like(
      input,
      std::string(strip(text_of(input, budget), characters, true, true)));
}

Value replace(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("replace", arguments, {"old", "new", "count"}, 2);
  return replace_all(text_of(input, budget),
                     text_of(given.value(0), budget),
                     text_of(given.value(1), budget),
                     given.integer(2, -1),
                     budget);
}

Value indent(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("indent", arguments, {"width", "first", "blank"});
  if (!input.is_string())
    fail("indent: expected a str, got a ", input.type_name());
  const std::string indentation =
      given.has(0) && given.value(0).is_string()
          ? given.string(0, "")
          : pad_text("",
                     '<',
                     std::max<int64_t>(0, given.integer(0, 4)),
                     " ",
                     budget);
  const bool indents_first = given.boolean(1, false);
  const bool indents_blank = given.boolean(2, false);
  // With a newline at the end, a last empty line counts as one.
  const std::string text = input.string() + '\n';
  std::string out;
  bool is_first = true;
  for (const std::string_view line : split_lines(text, false)) {
    if (!is_first) out += '\n';
    if (is_first ? indents_first : !line.empty() || indents_blank)
      out += indentation;
    is_first = false;
    out += line;
    budget.charge_bytes(line.size() + indentation.size());
  }
  return like(input, std::move(out));
}

Value string(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("string", arguments, {});
  if (input.is_string()) return input;
  return text_of(input, budget);
}

Value safe(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("safe", arguments, {});
  return Value::markup(text_of(input, budget));
}

Value escape(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("escape", arguments, {});
  if (input.is_markup()) return input;
  return Value::markup(escape_html(text_of(input, budget)));
}

Value force_escape(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("forceescape", arguments, {});
  return Value::markup(escape_html(text_of(input, budget)));
}

Value format(const Value& input, Arguments arguments, Budget& budget) {
  if (!arguments.named.empty()) fail("format: named values are not supported");
  return format_percent(
      text_of(input, budget), Value::tuple(arguments.positional), budget);
}

Value center(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("center", arguments, {"width"});
  const std::string text = text_of(input, budget);
  const auto size = static_cast<int64_t>(count_characters(text));
  return pad_text(text,
                  '^',
                  std::max<int64_t>(0, given.integer(0, 80) - size),
                  " ",
                  budget);
}

Value truncate(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given(
      "truncate", arguments, {"length", "killwords", "end", "leeway"});
  const int64_t length = given.integer(0, 255);
  const std::string end = given.string(2, "...");
  const int64_t leeway = given.integer(3, 5);
  const auto end_size = static_cast<int64_t>(count_characters(end));
  if (length < end_size || leeway < 0)
    fail("truncate: expected a length of at least ", end_size);
  if (static_cast<int64_t>(length_of(input)) <= length + leeway) return input;
  if (!input.is_string())
    fail("truncate: expected a str, got a ", input.type_name());
  const std::string& all = input.string();
  budget.charge_bytes(all.size());
  std::string cut = all.substr(0, byte_offset(all, length - end_size));
  if (!given.boolean(1, false)) cut = cut.substr(0, cut.rfind(' '));
  return cut + end;
}

// json.dumps(x, ensure_ascii, indent, separators, sort_keys).
Value tojson(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("tojson",
                         arguments,
                         {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = given.boolean(0, false);
  style.sort_keys = given.boolean(3, false);
  if (given.has(1)) {
    style.indent = given.value(1).is_string()
                       ? given.string(1, "")
                       : pad_text("",
                                  '<',
                                  std::max<int64_t>(0, given.integer(1, 0)),
                                  " ",
                                  budget);
    style.item_separator = ",";
  }
  if (given.has(2)) {
    const Items pair = iterate(given.value(2), budget);
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      fail("tojson: separators: expected two strings");
    style.item_separator = pair[0].string();
    style.key_separator = pair[1].string();
  }
  return to_json(input, style, budget);
}

constexpr Filter kTextFilters[] = {
    {"capitalize", map_case<capitalize>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", force_escape},
    {"format", format},
    {"indent", indent},
    {"lower", map_case<to_lower>},
    {"replace", replace},
    {"safe", safe},
    {"string", string},
    {"title", map_case<title>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", map_case<to_upper>},
};

}  // namespace

std::span<const Filter> text_filters() {
  return kTextFilters;
}

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/string_split.h"

#include <algorithm>
#include <limits>

#include "core/chat/problem.h"
#include "core/chat/unicode_text.h"
#include "core/tokenizer/utf8.h"

namespace titan::chat {
namespace {

using Pieces = std::vector<std::string_view>;

Pieces split_by(std::string_view text,
                std::string_view separator,
                int64_t limit) {
  if (separator.empty()) fail("split: the separator is empty");
  Pieces pieces;
  while (limit-- != 0) {
    const size_t found = text.find(separator);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.substr(0, found));
    text.remove_prefix(found + separator.size());
  }
  pieces.push_back(text);
  return pieces;
}

Pieces rsplit_by(std::string_view text,
                 std::string_view separator,
                 int64_t limit) {
  if (separator.empty()) fail("rsplit: the separator is empty");
  Pieces pieces;
  while (limit-- != 0) {
    const size_t found = text.rfind(separator);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  pieces.push_back(text);
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

// Runs of white space separate, at the ends they do not count.
Pieces split_words(std::string_view text, int64_t limit) {
  Pieces pieces;
  text = strip(text, {}, true, false);
  while (!text.empty() && limit-- != 0) {
    size_t end = 0;
    while (end < text.size()) {
      size_t next = end;
      if (is_python_space(next_code_point(text, next))) break;
      end = next;
    }
    pieces.push_back(text.substr(0, end));
    text = strip(text.substr(end), {}, true, false);
  }
  // Only behind the last cut is white space kept.
  if (!text.empty()) pieces.push_back(text);
  return pieces;
}

Pieces rsplit_words(std::string_view text, int64_t limit) {
  Pieces pieces;
  text = strip(text, {}, false, true);
  while (!text.empty() && limit-- != 0) {
    size_t begin = 0;
    for (size_t at = 0; at < text.size();)
      if (is_python_space(next_code_point(text, at))) begin = at;
    pieces.push_back(text.substr(begin));
    text = strip(text.substr(0, begin), {}, false, true);
  }
  if (!text.empty()) pieces.push_back(text);
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Value to_list(const Pieces& pieces, size_t size, Budget& budget) {
  budget.charge_items(pieces.size());
  budget.charge_bytes(size);
  return Value::list(List(pieces.begin(), pieces.end()));
}

bool is_line_end(uint32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
         c == 0x2028 || c == 0x2029;
}

}  // namespace

Value split(const Value& self, const CallArguments& arguments, Budget& budget) {
  const Parameters given("split", arguments, {"sep", "maxsplit"});
  const std::string_view text = self.string();
  const int64_t limit = given.integer(1, -1);
  return to_list(given.has(0) ? split_by(text, given.string(0, ""), limit)
                              : split_words(text, limit),
                 text.size(),
                 budget);
}

Value rsplit(const Value& self,
             const CallArguments& arguments,
             Budget& budget) {
  const Parameters given("rsplit", arguments, {"sep", "maxsplit"});
  const std::string_view text = self.string();
  const int64_t limit = given.integer(1, -1);
  // Without a limit the side does not matter, and words are found faster.
  if (!given.has(0) && limit < 0)
    return to_list(split_words(text, limit), text.size(), budget);
  if (given.has(0))
    return to_list(
        rsplit_by(text, given.string(0, ""), limit), text.size(), budget);
  budget.charge_bytes(text.size() *
                      static_cast<size_t>(std::min<int64_t>(limit + 1, 1000)));
  return to_list(rsplit_words(text, limit), text.size(), budget);
}

std::vector<std::string_view> split_lines(std::string_view text,
                                          bool keep_ends) {
  Pieces lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const uint32_t c = next_code_point(text, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

Value splitlines(const Value& self,
                 const CallArguments& arguments,
                 Budget& budget) {
  const Parameters given("splitlines", arguments, {"keepends"});
  return to_list(split_lines(self.string(), given.boolean(0, false)),
                 self.string().size(),
                 budget);
}

Value partition(const Value& self, const CallArguments& arguments, Budget&) {
  const Parameters given("partition", arguments, {"sep"}, 1);
  const std::string separator = given.string(0, "");
  const Pieces pieces = split_by(self.string(), separator, 1);
  if (pieces.size() == 1) return Value::tuple({pieces[0], "", ""});
  return Value::tuple({pieces[0], separator, pieces[1]});
}

Value rpartition(const Value& self, const CallArguments& arguments, Budget&) {
  const Parameters given("rpartition", arguments, {"sep"}, 1);
  const std::string separator = given.string(0, "");
  const Pieces pieces = rsplit_by(self.string(), separator, 1);
  if (pieces.size() == 1) return Value::tuple({"", "", pieces[0]});
  return Value::tuple({pieces[0], separator, pieces[1]});
}

}  // namespace titan::chat

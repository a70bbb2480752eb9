// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/unicode_text.h"

#include <algorithm>

#include "core/chat/problem.h"
#include "core/tokenizer/unicode_classes.h"
#include "core/tokenizer/utf8.h"

namespace titan::chat {
namespace {

// Start of the character that ends at `end`.
size_t previous_character(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && is_utf8_continuation(text[end]));
  return end;
}

class StripSet {
 public:
  explicit StripSet(std::optional<std::string_view> characters)
      : is_space_(!characters) {
    if (characters) characters_ = split_characters(*characters);
  }

  bool contains(std::string_view character) const {
    if (is_space_) {
      size_t position = 0;
      return is_python_space(next_code_point(character, position));
    }
    return std::find(characters_.begin(), characters_.end(), character) !=
           characters_.end();
  }

 private:
  bool is_space_;
  std::vector<std::string_view> characters_;
};

std::string map_ascii(std::string_view what,
                      std::string_view text,
                      char first,
                      char last) {
  require_ascii(what, text);
  std::string out(text);
  for (char& c : out)
    if (c >= first && c <= last) c ^= 0x20;
  return out;
}

}  // namespace

bool is_python_space(uint32_t code_point) {
  return is_white_space(code_point) ||
         (code_point >= 0x1C && code_point <= 0x1F);
}

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_ascii_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

void require_ascii(std::string_view what, std::string_view text) {
  if (!is_ascii(text))
    fail(what,
         " is implemented for ASCII only, got \"",
         text.substr(0, byte_offset(text, 40)),
         '"');
}

size_t count_characters(std::string_view text) {
  return text.size() -
         std::count_if(text.begin(), text.end(), is_utf8_continuation);
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t position = 0;
  for (; index > 0 && position < text.size(); --index) {
    ++position;
    while (position < text.size() && is_utf8_continuation(text[position]))
      ++position;
  }
  return position;
}

std::vector<std::string_view> split_characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t begin = 0; begin < text.size();) {
    const size_t size = byte_offset(text.substr(begin), 1);
    characters.push_back(text.substr(begin, size));
    begin += size;
  }
  return characters;
}

std::string_view strip(std::string_view text,
                       std::optional<std::string_view> characters,
                       bool left,
                       bool right) {
  const StripSet set(characters);
  while (left && !text.empty()) {
    const size_t size = byte_offset(text, 1);
    if (!set.contains(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (right && !text.empty()) {
    const size_t begin = previous_character(text, text.size());
    if (!set.contains(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::string to_lower(std::string_view text) {
  return map_ascii("lower case", text, 'A', 'Z');
}

std::string to_upper(std::string_view text) {
  return map_ascii("upper case", text, 'a', 'z');
}

std::vector<size_t> slice_indices(const Slice& slice, size_t size) {
  const auto length = static_cast<int64_t>(size);
  const int64_t step = slice.step.value_or(1);
  if (step == 0) fail("a slice's step cannot be zero");
  const int64_t low = step < 0 ? -1 : 0;
  const int64_t high = step < 0 ? length - 1 : length;
  const auto place = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    const int64_t from_start = *bound < 0 ? *bound + length : *bound;
    return std::clamp(from_start, low, high);
  };
  const int64_t start = place(slice.start, step < 0 ? high : low);
  const int64_t stop = place(slice.stop, step < 0 ? low : high);
  std::vector<size_t> indices;
  // A step beyond the length takes the first only, and cannot overflow.
  const int64_t stride = std::clamp(step, -length - 1, length + 1);
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += stride)
    indices.push_back(static_cast<size_t>(i));
  return indices;
}

std::string replace_all(std::string_view text,
                        std::string_view from,
                        std::string_view to,
                        int64_t count,
                        Budget& budget) {
  std::string out;
  size_t begin = 0;
  size_t search_from = 0;
  while (count != 0) {
    const size_t found = text.find(from, search_from);
    if (found == std::string_view::npos) break;
    out.append(text, begin, found - begin).append(to);
    budget.charge_bytes(to.size() + 1);
    begin = found + from.size();
    --count;
    if (!from.empty()) {
      search_from = begin;
    } else if (found == text.size()) {
      break;
    } else {
      // Python puts `to` before each character and at the end.
      search_from = begin + byte_offset(text.substr(begin), 1);
    }
  }
  out.append(text, begin);
  budget.charge_bytes(text.size());
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&#34;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

}  // namespace titan::chat

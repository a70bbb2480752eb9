// SPDX-License-Identifier: BSD-3-Clause
// Python's view of strings on UTF-8 bytes: indices are code points, white space
// is str.isspace's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chat/budget.h"

namespace titan::chat {

/// str.isspace: White_Space and U+001C to U+001F.
bool is_python_space(uint32_t code_point);
bool is_ascii(std::string_view text);
/// "0" to "9".
bool is_ascii_digit(char c);
/// What JSON and YAML call white space: blank, tab, line feed, return.
bool is_ascii_space(char c);
/// Problem unless `text` is ASCII: what `what` does elsewhere needs tables.
void require_ascii(std::string_view what, std::string_view text);

/// Number of code points.
size_t count_characters(std::string_view text);
/// Byte offset of character `index`, at most the text's size.
size_t byte_offset(std::string_view text, size_t index);
std::vector<std::string_view> split_characters(std::string_view text);

/// str.strip with one side or both; `characters` absent: white space.
std::string_view strip(std::string_view text,
                       std::optional<std::string_view> characters,
                       bool left,
                       bool right);

/// Of ASCII text; Problem otherwise.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

/// Python's slice(start, stop, step).indices(size), as the indices themselves.
struct Slice {
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  std::optional<int64_t> step;
};
std::vector<size_t> slice_indices(const Slice& slice, size_t size);

/// str.replace; at most `count` times where it is not negative.
std::string replace_all(std::string_view text,
                        std::string_view from,
                        std::string_view to,
                        int64_t count,
                        Budget& budget);

/// markupsafe.escape.
std::string escape_html(std::string_view text);

}  // namespace titan::chat

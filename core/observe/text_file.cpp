// SPDX-License-Identifier: BSD-3-Clause
// Reads by chunks and not by size: files of procfs report size 0.
#include "core/observe/text_file.h"

#include <fstream>
#include <iterator>

#include <titan/error.h>

namespace titan {

std::optional<std::string> read_text_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  if (file.bad()) return std::nullopt;
  return text;
}

std::string require_text_file(const std::filesystem::path& path) {
  auto content = read_text_file(path);
  TITAN_USER_CHECK(
      content, "[", path.string(), "] expected a readable file, got none");
  return std::move(*content);
}

std::string read_first_line(const std::filesystem::path& path) {
  const std::string text = read_text_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Whole small text files (procfs, sysfs, a metrics log): read at once, cut
// into lines.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// The file's bytes; nullopt if it cannot be opened or read.
std::optional<std::string> read_text_file(const std::filesystem::path& path);

/// The file's bytes; UserError if it cannot be opened or read.
std::string require_text_file(const std::filesystem::path& path);

/// The file's first line without its newline; "" if it cannot be read.
std::string read_first_line(const std::filesystem::path& path);

/// Lines without their newlines; the views point into `text`.
std::vector<std::string_view> split_lines(std::string_view text);

}  // namespace titan

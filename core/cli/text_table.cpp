// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/text_table.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace titan::cli {
namespace {

/// Digits and what stands between them: "-3", "1.5e-07", "1.49x".
bool is_number(const std::string& cell) {
  return cell.find_first_of("0123456789") != std::string::npos &&
         cell.find_first_not_of("0123456789.-+ex") == std::string::npos;
}

/// Do all cells below the heading hold numbers, or a dash for none?
bool is_column_of_numbers(const std::vector<std::vector<std::string>>& rows,
                          size_t column) {
  bool has_number = false;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (column >= rows[i].size() || rows[i][column] == "-") continue;
    if (!is_number(rows[i][column])) return false;
    has_number = true;
  }
  return has_number;
}

}  // namespace

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<bool> are_numbers;
  for (size_t i = 0; i < widths.size(); ++i)
    are_numbers.push_back(is_column_of_numbers(rows, i));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      line += are_numbers[i] ? gap + row[i] : row[i] + gap;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string fixed_text(double value, int digits) {
  std::array<char, 64> room{};
  std::snprintf(room.data(), room.size(), "%.*f", digits, value);
  return room.data();
}

std::string short_text(double value) {
  std::array<char, 64> room{};
  std::snprintf(room.data(), room.size(), "%.1e", value);
  return room.data();
}

}  // namespace titan::cli

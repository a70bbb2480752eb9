// SPDX-License-Identifier: BSD-3-Clause
// Columns as wide as their widest cell, for what people read.
#pragma once

#include <string>
#include <vector>

namespace titan::cli {

/// One line per row, without spaces at its end; the first row is the heading.
/// Columns of numbers are aligned to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// "1.25": a fixed number of digits behind the point.
std::string fixed_text(double value, int digits);

/// "1.3e-06"
std::string short_text(double value);

}  // namespace titan::cli

// SPDX-License-Identifier: BSD-3-Clause
// Checks of raw YAML bytes that yaml-cpp would get wrong: it guesses UTF-16
// from zero bytes, replaces bad UTF-8 silently and takes tabs as indentation.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace titan::config {

/// Returns the text without BOM and with LF line ends. UserError with
/// `name:line:column` for size, bad UTF-8, control characters and tabs in
/// indentation.
std::string clean_yaml_text(std::string_view bytes,
                            const std::string& name,
                            std::size_t max_bytes);

}  // namespace titan::config

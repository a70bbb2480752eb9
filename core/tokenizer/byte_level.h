// SPDX-License-Identifier: BSD-3-Clause
// The byte-level alphabet of GPT-2's encoder.py: each byte has a printable
// character, so that a vocabulary of text can hold any bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace titan {

/// Returns the bytes that the alphabet's characters in `token` (well-formed
/// UTF-8) stand for, or nothing where a character is not in the alphabet.
std::optional<std::string> bytes_of_byte_level(std::string_view token);

/// Returns the alphabet's characters for `bytes`.
std::string to_byte_level(std::string_view bytes);

}  // namespace titan

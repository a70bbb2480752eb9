// SPDX-License-Identifier: BSD-3-Clause
// Base64 (RFC 4648, section 4), as charsmaps and tiktoken's ranks use it.
#pragma once

#include <string>
#include <string_view>

namespace titan {

/// Returns the bytes. UserError (tag `where`): a character outside the
/// alphabet, padding inside, or a length that no bytes have.
std::string decode_base64(std::string_view text, const std::string& where);

}  // namespace titan

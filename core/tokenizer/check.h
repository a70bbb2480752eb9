// SPDX-License-Identifier: BSD-3-Clause
// Holds a tokenizer against recorded cases: `titan tokenizer check FOLDER`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace titan {

struct TokenizerCheck {
  int64_t num_cases = 0;
  /// One line per difference: case, field, expected and got.
  std::vector<std::string> differences;
};

/// Runs cases.json in the folder, or beside the file, that `spec` (see
/// load_tokenizer) names: a list of objects {text,
/// ids, ids_special, decoded, decoded_skip}, where ids are those without and
/// ids_special those with the template, and both decodings are of ids, with
/// ill-formed UTF-8 replaced. UserError: a file is missing, malformed or has no
/// cases.
TokenizerCheck check_tokenizer(const std::filesystem::path& spec);

}  // namespace titan

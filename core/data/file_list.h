// SPDX-License-Identifier: BSD-3-Clause
// What `data.files` names: files, folders, patterns.
#pragma once

#include <string>
#include <vector>

namespace titan {

/// Expands each entry: a folder becomes the files in it and below (sorted by
/// path, hidden ones left out, only those with an ending in `endings` or one
/// followed by .gz or .zst; no endings: all), a pattern with * ? [ what it
/// matches, sorted, a file itself. UserError: nothing there, or a file is
/// empty.
std::vector<std::string> expand_files(const std::vector<std::string>& entries,
                                      const std::vector<std::string>& endings);

/// The endings that a folder is searched for, for `use`.
std::vector<std::string> endings_for(const std::string& use);

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Which files may become code of this process: those that only root or the user
// running it could have written. Rules (docs/plugins.md): the file and each
// folder on the way to it belong to root or to us and are writable by nobody
// else; a sticky folder of root counts as safe, and so does one writable by a
// group that is its owner's own. Symbolic links are followed, one folder check
// per hop, so that a link in a safe folder to a safe file works and no other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugin {

/// A plugin's bytes, read once: what is hashed is what is parsed is what runs.
struct PluginBytes {
  std::string path;       ///< as asked for, made absolute by the caller
  std::string real_path;  ///< after links
  std::vector<std::byte> bytes;
};

enum class Trust {
  kRequired,  ///< for loading
  kIgnored,   ///< for looking only: nothing of the file is run
};

/// Reads the file at an absolute path. Throws UserError: NOT_FOUND, NOT_A_FILE,
/// UNREADABLE, UNTRUSTED_PATH.
PluginBytes read_plugin(const std::string& path, Trust trust);

/// What is wrong with trusting `path` and its folders; nothing if all is well.
std::optional<std::string> distrust_reason(const std::string& path);

}  // namespace titan::plugin

// SPDX-License-Identifier: BSD-3-Clause
// Where plugins are looked for, in order of precedence:
//   explicit path > plugins.search > TITAN_PLUGIN_PATH
//   > ~/.local/lib/titan/plugins/1 > <exe>/../lib/titan/plugins,
//   <exe>/../plugins
// Never the working directory, never a bare name. Files of a folder are taken
// by name, so that every machine sees one order.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace titan::plugin {

enum class Level { kExplicit, kRecipe, kEnvironment, kUser, kBuiltIn };

/// "explicit path", "plugins.search", "TITAN_PLUGIN_PATH", ...
std::string level_name(Level level);

struct SearchOptions {
  std::vector<std::string> files;    ///< explicit paths
  std::vector<std::string> folders;  ///< plugins.search
  /// Relative entries of the two above start here (the recipe's folder); empty
  /// = only absolute ones are allowed.
  std::string relative_to;
  bool use_environment = true;     ///< TITAN_PLUGIN_PATH and HOME
  bool is_built_ins_only = false;  ///< safe mode
  std::string executable;          ///< empty = /proc/self/exe
};

struct SearchFolder {
  Level level;
  std::string path;
  std::string problem;  ///< why nothing is taken from it; empty = usable
};

struct FoundFile {
  Level level;
  std::string path;  ///< absolute
};

struct SearchResult {
  std::vector<SearchFolder> folders;  ///< in order, also those that are absent
  std::vector<FoundFile> files;       ///< in order of precedence, then name
};

/// Lists folders; opens no file. Throws UserError NOT_FOUND for an explicit
/// path that is a bare name, or relative without `relative_to`.
SearchResult search_plugins(const SearchOptions& options);

}  // namespace titan::plugin

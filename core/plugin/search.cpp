// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <titan/text.h>

#include "core/plugin/error_code.h"

namespace titan::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 4096;

std::string environment(const char* name) {
  // Null in a process that gained privileges: its caller may not choose code.
  const char* value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

std::string absolute_or_empty(const std::string& path,
                              const std::string& relative_to) {
  if (!path.empty() && path.front() == '/')
    return fs::path(path).lexically_normal();
  if (relative_to.empty() || relative_to.front() != '/') return {};
  return (fs::path(relative_to) / path).lexically_normal();
}

std::string explicit_file(const std::string& path,
                          const SearchOptions& options) {
  const bool is_bare = path.find('/') == std::string::npos;
  std::string absolute =
      is_bare ? "" : absolute_or_empty(path, options.relative_to);
  if (absolute.empty()) {
    throw_code(Code::kNotFound,
               path,
               text(is_bare ? "bare names are not searched"
                            : "no folder to start from",
                    ": expected a path as './",
                    path,
                    "' or an absolute one, got '",
                    path,
                    "'. Name the file with its folder."));
  }
  return absolute;
}

SearchFolder folder(Level level,
                    const std::string& path,
                    const std::string& relative_to) {
  std::string absolute = absolute_or_empty(path, relative_to);
  if (absolute.empty())
    return {level,
            path,
            "not an absolute path: the working directory is never "
            "searched"};
  std::error_code error;
  const fs::file_status status = fs::status(absolute, error);
  if (!fs::exists(status)) return {level, absolute, "does not exist"};
  if (!fs::is_directory(status)) return {level, absolute, "is not a folder"};
  return {level, absolute, ""};
}

std::vector<SearchFolder> list_folders(const SearchOptions& options) {
  std::vector<SearchFolder> out;
  if (!options.is_built_ins_only) {
    for (const std::string& path : options.folders)
      out.push_back(folder(Level::kRecipe, path, options.relative_to));
    if (options.use_environment) {
      const std::string paths = environment("TITAN_PLUGIN_PATH");
      for (std::size_t at = 0; at < paths.size();) {
        const std::size_t end = std::min(paths.find(':', at), paths.size());
        if (end > at)
          out.push_back(
              folder(Level::kEnvironment, paths.substr(at, end - at), ""));
        at = end + 1;
      }
      if (const std::string home = environment("HOME"); !home.empty())
        out.push_back(
            folder(Level::kUser, home + "/.local/lib/titan/plugins/1", ""));
    }
  }
  std::error_code error;
  fs::path executable = options.executable;
  if (executable.empty())
    executable = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = executable.parent_path().parent_path();
  for (const char* part : {"lib/titan/plugins", "plugins"})
    out.push_back(folder(Level::kBuiltIn, prefix / part, ""));
  return out;
}

std::vector<std::string> list_files(SearchFolder& where) {
  std::vector<std::string> out;
  std::error_code error;
  fs::directory_iterator at(where.path, error);
  for (std::size_t i = 0; !error && at != fs::directory_iterator();
       at.increment(error), ++i) {
    if (i == kMaxEntries) {
      where.problem = text("more than ", kMaxEntries, " entries");
      return {};
    }
    const fs::path& path = at->path();
    const bool is_hidden = path.filename().native().front() == '.';
    if (path.extension() == ".so" && !is_hidden) out.push_back(path);
  }
  if (error) where.problem = error.message();
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string level_name(Level level) {
  switch (level) {
    case Level::kExplicit:
      return "explicit path";
    case Level::kRecipe:
      return "plugins.search";
    case Level::kEnvironment:
      return "TITAN_PLUGIN_PATH";
    case Level::kUser:
      return "user folder";
    case Level::kBuiltIn:
      break;
  }
  return "built-in";
}

SearchResult search_plugins(const SearchOptions& options) {
  SearchResult out;
  for (const std::string& path : options.files)
    out.files.push_back({Level::kExplicit, explicit_file(path, options)});
  out.folders = list_folders(options);
  std::vector<std::string> seen;
  for (SearchFolder& where : out.folders) {
    if (!where.problem.empty()) continue;
    if (std::find(seen.begin(), seen.end(), where.path) != seen.end()) {
      where.problem = "listed before";
      continue;
    }
    seen.push_back(where.path);
    for (std::string& path : list_files(where))
      out.files.push_back({where.level, std::move(path)});
  }
  return out;
}

}  // namespace titan::plugin

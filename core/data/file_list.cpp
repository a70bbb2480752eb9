// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/file_list.h"

#include <algorithm>
#include <filesystem>

#include <glob.h>

#include <titan/error.h>

namespace titan {
namespace {

namespace fs = std::filesystem;

bool has_ending(const std::string& name,
                const std::vector<std::string>& endings) {
  if (endings.empty()) return true;
  return std::any_of(endings.begin(), endings.end(), [&](const auto& ending) {
    return name.ends_with(ending) || name.ends_with(ending + ".gz") ||
           name.ends_with(ending + ".zst");
  });
}

std::vector<std::string> files_below(const std::string& folder,
                                     const std::vector<std::string>& endings) {
  std::vector<std::string> found;
  for (auto it = fs::recursive_directory_iterator(folder);
       it != fs::recursive_directory_iterator();
       ++it) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.')) {
      if (it->is_directory()) it.disable_recursion_pending();
      continue;
    }
    // Empty files of a folder are nobody's mistake: there is no text in them.
    if (it->is_regular_file() && has_ending(name, endings) &&
        it->file_size() > 0)
      found.push_back(it->path().string());
  }
  std::sort(found.begin(), found.end());
  TITAN_USER_CHECK(!found.empty(),
                   "[data.files] folder without files to read: ",
                   folder,
                   " (expected ",
                   endings,
                   ", also with .gz or .zst behind)");
  return found;
}

std::vector<std::string> files_matching(const std::string& pattern) {
  glob_t matches{};
  const int code = glob(pattern.c_str(), 0, nullptr, &matches);
  std::vector<std::string> found;
  for (size_t i = 0; code == 0 && i < matches.gl_pathc; ++i) {
    std::error_code error;
    const fs::path path = matches.gl_pathv[i];
    if (fs::is_regular_file(path, error) && fs::file_size(path, error) > 0)
      found.push_back(path.string());
  }
  globfree(&matches);
  TITAN_USER_CHECK(
      !found.empty(), "[data.files] pattern matches no file: ", pattern);
  return found;
}

void add_file(const std::string& file, std::vector<std::string>& files) {
  std::error_code error;
  TITAN_USER_CHECK(
      fs::is_regular_file(file, error), "[data] no such file: ", file);
  TITAN_USER_CHECK(
      fs::file_size(file, error) > 0, "[data] file is empty: ", file);
  files.push_back(file);
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& entries,
                                      const std::vector<std::string>& endings) {
  std::vector<std::string> files;
  for (const std::string& entry : entries) {
    std::error_code error;
    if (fs::is_directory(entry, error)) {
      for (const std::string& file : files_below(entry, endings))
        files.push_back(file);
    } else if (!fs::exists(entry, error) &&
               entry.find_first_of("*?[") != std::string::npos) {
      for (const std::string& file : files_matching(entry))
        files.push_back(file);
    } else {
      add_file(entry, files);
    }
  }
  return files;
}

std::vector<std::string> endings_for(const std::string& use) {
  if (use == "text") return {".txt", ".md", ".text"};
  if (use == "tokens") return {".bin"};
  return {".jsonl", ".json", ".ndjson"};
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// A folder of one test, removed with everything in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>  // mkdtemp

#include "core/observe/text_file.h"

namespace titan::test {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "titan_observe_XXXXXX")
            .string();
    path_ = mkdtemp(name.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file below the folder, with the folders it needs.
  std::filesystem::path write(const std::string& name,
                              const std::string& content) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }

  std::string read(const std::string& name) const {
    return read_text_file(path_ / name).value();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace titan::test

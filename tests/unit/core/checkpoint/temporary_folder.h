// SPDX-License-Identifier: BSD-3-Clause
// A fresh folder that goes away with the test, and short ways to fill files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stdlib.h>  // mkdtemp
#include <unistd.h>  // access

// In memory where the machine has such a folder: these tests sync thousands of
// times, 5 ms each on a disk.
inline std::filesystem::path fast_folder() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0
             ? memory
             : std::filesystem::temp_directory_path();
}

class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      const std::filesystem::path& parent = fast_folder()) {
    std::string name = (parent / "titan-XXXXXX").string();
    const char* const made = ::mkdtemp(name.data());
    if (made == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = made;
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a destructor must not throw
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void put_file(const std::filesystem::path& path,
                     std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string get_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

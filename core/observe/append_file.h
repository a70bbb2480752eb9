// SPDX-License-Identifier: BSD-3-Clause
// A file that grows by whole records. A record that does not fit (disk full)
// is taken back, so that the next one does not continue a torn line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace titan {

class AppendFile {
 public:
  /// Opens or creates the file, and its folder. UserError if it cannot.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Hands all of `record` to the kernel, or leaves the file as it was and
  /// throws DeviceError. It survives a kill of the process.
  void append(std::string_view record);

  /// Waits until the disk has it: survives a power cut.
  void sync();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_bytes_ = 0;
};

/// Replaces the file's content at once or not at all: temporary file, fsync,
/// rename. DeviceError if the disk refuses.
void replace_file(const std::filesystem::path& path, std::string_view content);

}  // namespace titan

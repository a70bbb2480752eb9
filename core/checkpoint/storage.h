// SPDX-License-Identifier: BSD-3-Clause
// Files that survive a kill: the few operations on which atomic writes rest,
// behind an interface so that tests can fail or stop at any one of them, and
// that a plugin may bring another place (core/plugin/plugin_file_system.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::checkpoint {

/// A file being written from its start. Used by one thread at a time. The
/// destructor closes without sync: what was not synced may be lost.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual void append(std::span<const std::byte> bytes) = 0;
  /// Returns when every appended byte is on the device.
  virtual void sync() = 0;
  /// Closes and reports what the system had held back; call it once, last.
  virtual void close() = 0;
};

/// A file as memory. Any thread may read.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  /// All of it; valid to read where load() has been, local files everywhere.
  virtual std::span<const std::byte> bytes() const = 0;
  /// Returns when bytes [begin, begin + size) can be read.
  virtual void load(std::size_t begin, std::size_t size) const = 0;
};

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // false for a link to a folder
};

/// Every call throws UserError when the path is at fault (absent, no
/// permission) and DeviceError when the device is (full, I/O error).
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Creates the file, or empties it where it exists.
  virtual std::unique_ptr<WritableFile> create(
      const std::filesystem::path& path) = 0;
  /// Its parent must exist; an existing folder is left as it is.
  virtual void make_folder(const std::filesystem::path& path) = 0;
  /// Replaces an existing file; a non-empty folder in the way is an error.
  virtual void rename(const std::filesystem::path& from,
                      const std::filesystem::path& to) = 0;
  /// Makes the names in a folder durable.
  virtual void sync_folder(const std::filesystem::path& path) = 0;
  /// Removes a file, a link or an empty folder.
  virtual void remove(const std::filesystem::path& path) = 0;
  /// Sorted by name; an absent folder has no entries.
  virtual std::vector<FolderEntry> list(
      const std::filesystem::path& path) const = 0;
  virtual bool exists(const std::filesystem::path& path) const = 0;
  /// Of a file; none where there is none. This and open(): a local file unless
  /// overridden.
  virtual std::optional<std::uint64_t> size(
      const std::filesystem::path& path) const;
  virtual std::unique_ptr<ReadableFile> open(
      const std::filesystem::path& path) const;
  /// Whether paths are keys of objects: a file appears whole when it is closed,
  /// folders come and go with what is in them, and nothing can be renamed.
  virtual bool is_object_store() const { return false; }
};

FileSystem& real_file_system();

/// make_folder for every missing part of the path, each made durable.
void make_folders(FileSystem& files, const std::filesystem::path& path);

/// Removes a file or a folder with its content; links are not followed.
void remove_tree(FileSystem& files, const std::filesystem::path& path);

/// As write_file_atomically, but the name is not synced: for a file that is for
/// nobody after a loss of power, in a folder that may be gone by then.
void write_file_by_rename(FileSystem& files,
                          const std::filesystem::path& path,
                          std::string_view content);

/// Writes `.tmp-<name>` beside `path`, syncs it and renames it over `path` (an
/// object store replaces the object): a reader sees the old file or the new
/// one, never a part.
void write_file_atomically(FileSystem& files,
                           const std::filesystem::path& path,
                           std::string_view content);

/// Makes a hidden folder beside `path`, lets `fill` write into it and renames
/// it to `path` (which may end in a slash). UserError if `path` exists.
void write_folder_by_rename(
    FileSystem& files,
    const std::filesystem::path& path,
    const std::function<void(const std::filesystem::path&)>& fill);

/// Writes and syncs a file whose folder is not yet visible under its name.
void write_file(FileSystem& files,
                const std::filesystem::path& path,
                std::string_view content);

/// A whole text file. Throws UserError where there is none.
std::string read_text(const FileSystem& files,
                      const std::filesystem::path& path);

/// "." for a path without a folder part.
std::filesystem::path parent_folder(const std::filesystem::path& path);

}  // namespace titan::checkpoint

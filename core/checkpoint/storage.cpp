// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/storage.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>  // rename
#include <system_error>

#include <fcntl.h>     // open, sync_file_range
#include <sys/stat.h>  // mkdir
#include <unistd.h>    // fsync

#include <titan/error.h>

#include "core/checkpoint/mapped_file.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;

// Small tensors are gathered into writes of this size; larger ones go
// straight to the kernel.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// After so many bytes the device is told to start on them: it writes while the
// next are copied, instead of idling until fsync (bench/results/
// checkpoint_io.md).
constexpr std::size_t kWritebackBytes = std::size_t{8} << 20;

[[noreturn]] void throw_io(const fs::path& path, const char* call, int code) {
  const std::string message = text("[checkpoint ",
                                   path.string(),
                                   "] ",
                                   call,
                                   ": expected success, got ",
                                   std::generic_category().message(code));
  switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ENOTEMPTY:
    case ENAMETOOLONG:
    case ELOOP:
      throw UserError(message);
    default:
      throw DeviceError(message);
  }
}

class PosixFile final : public WritableFile {
 public:
  explicit PosixFile(const fs::path& path)
      : path_(path),
        descriptor_(::open(path.c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                           0644)) {
    if (descriptor_ < 0) throw_io(path, "create", errno);
    buffer_.reserve(kBufferBytes);
  }

  ~PosixFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  void append(std::span<const std::byte> bytes) override {
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes)
      write_all(bytes);
    else
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }

  void sync() override {
    flush();
    if (::fsync(descriptor_) != 0) throw_io(path_, "fsync", errno);
  }

  void close() override {
    flush();
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) throw_io(path_, "close", errno);
  }

 private:
  void flush() {
    write_all(buffer_);
    buffer_.clear();
  }

  void write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(
          descriptor_, bytes.data(), std::min(bytes.size(), kWritebackBytes));
      if (count < 0) {
        if (errno == EINTR) continue;
        throw_io(path_, "write", errno);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      size_ += count;
      if (size_ - size_started_ >= static_cast<off_t>(kWritebackBytes))
        start_writeback();
    }
  }

  // A hint: where it is not understood, fsync does all the work.
  void start_writeback() {
    ::sync_file_range(descriptor_,
                      size_started_,
                      size_ - size_started_,
                      SYNC_FILE_RANGE_WRITE);
    size_started_ = size_;
  }

  fs::path path_;
  int descriptor_;
  std::vector<std::byte> buffer_;
  off_t size_ = 0;          // handed to the kernel
  off_t size_started_ = 0;  // of which the device has been told
};

class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const fs::path& path) override {
    return std::make_unique<PosixFile>(path);
  }

  void make_folder(const fs::path& path) override {
    if (::mkdir(path.c_str(), 0755) == 0) return;
    const int code = errno;
    if (code == EEXIST && fs::is_directory(path)) return;
    throw_io(path, "mkdir", code);
  }

  void rename(const fs::path& from, const fs::path& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0)
      throw_io(to, "rename", errno);
  }

  void sync_folder(const fs::path& path) override {
    const int descriptor =
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) throw_io(path, "open folder", errno);
    const int code = ::fsync(descriptor) == 0 ? 0 : errno;
    ::close(descriptor);
    // Some network file systems cannot sync a folder and say EINVAL: their
    // renames are as durable as they get.
    if (code != 0 && code != EINVAL) throw_io(path, "fsync folder", code);
  }

  void remove(const fs::path& path) override {
    if (std::remove(path.c_str()) != 0) throw_io(path, "remove", errno);
  }

  std::vector<FolderEntry> list(const fs::path& path) const override {
    std::vector<FolderEntry> entries;
    std::error_code error;
    fs::directory_iterator it(path, error);
    if (error.value() == ENOENT) return entries;
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      std::error_code gone;  // removed since it was listed: not a folder
      const bool is_folder =
          it->symlink_status(gone).type() == fs::file_type::directory;
      entries.push_back({it->path().filename().string(), is_folder});
    }
    if (error) throw_io(path, "list", error.value());
    std::ranges::sort(entries, {}, &FolderEntry::name);
    return entries;
  }

  bool exists(const fs::path& path) const override {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_io(path, "stat", errno);
  }
};

class MappedReadableFile final : public ReadableFile {
 public:
  explicit MappedReadableFile(const fs::path& path) : file_(path) {}
  std::span<const std::byte> bytes() const override { return file_.bytes(); }
  void load(std::size_t, std::size_t) const override {
    // The kernel reads a mapped page when it is touched.
  }

 private:
  MappedFile file_;
};

}  // namespace

std::optional<std::uint64_t> FileSystem::size(const fs::path& path) const {
  std::error_code error;
  const std::uintmax_t size_bytes = fs::file_size(path, error);
  if (error) return std::nullopt;
  return size_bytes;
}

std::unique_ptr<ReadableFile> FileSystem::open(const fs::path& path) const {
  return std::make_unique<MappedReadableFile>(path);
}

FileSystem& real_file_system() {
  static PosixFileSystem files;
  return files;
}

fs::path parent_folder(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

std::string read_text(const FileSystem& files, const fs::path& path) {
  const std::unique_ptr<ReadableFile> file = files.open(path);
  const std::span<const std::byte> bytes = file->bytes();
  file->load(0, bytes.size());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void make_folders(FileSystem& files, const fs::path& path) {
  if (files.is_object_store() || path.empty() || fs::is_directory(path)) return;
  make_folders(files, path.parent_path());
  files.make_folder(path);
  files.sync_folder(parent_folder(path));
}

void remove_tree(FileSystem& files, const fs::path& path) {
  if (files.is_object_store()) {
    for (const FolderEntry& entry : files.list(path))
      if (entry.is_folder)
        remove_tree(files, path / entry.name);
      else
        files.remove(path / entry.name);
    return;
  }
  if (fs::symlink_status(path).type() == fs::file_type::directory)
    for (const FolderEntry& entry : files.list(path))
      remove_tree(files, path / entry.name);
  files.remove(path);
}

void write_file(FileSystem& files,
                const fs::path& path,
                std::string_view content) {
  const std::unique_ptr<WritableFile> file = files.create(path);
  file->append(std::as_bytes(std::span(content)));
  file->sync();
  file->close();
}

void write_folder_by_rename(FileSystem& files,
                            const fs::path& given_path,
                            const std::function<void(const fs::path&)>& fill) {
  // "out/" names the folder "out".
  const fs::path path =
      given_path.has_filename() ? given_path : given_path.parent_path();
  TITAN_USER_CHECK(!files.exists(path),
                   "[checkpoint ",
                   path.string(),
                   "] export: expected a path that does not exist, got a file "
                   "or folder. Remove it or choose another.");
  const fs::path parent = parent_folder(path);
  const fs::path temporary = parent / (".tmp-" + path.filename().string());
  make_folders(files, parent);
  if (files.exists(temporary)) remove_tree(files, temporary);
  files.make_folder(temporary);
  fill(temporary);
  files.sync_folder(temporary);
  files.rename(temporary, path);
  files.sync_folder(parent);
}

void write_file_by_rename(FileSystem& files,
                          const fs::path& path,
                          std::string_view content) {
  if (files.is_object_store()) return write_file(files, path, content);
  const fs::path temporary =
      parent_folder(path) / (".tmp-" + path.filename().string());
  write_file(files, temporary, content);
  files.rename(temporary, path);
}

void write_file_atomically(FileSystem& files,
                           const fs::path& path,
                           std::string_view content) {
  write_file_by_rename(files, path, content);
  if (!files.is_object_store()) files.sync_folder(parent_folder(path));
}

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Plain POSIX calls: iostreams keep no promise about what a failed write left.
#include "core/observe/append_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <titan/error.h>

namespace titan {
namespace {

// Returns 0, or the errno that stopped it.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

[[noreturn]] void throw_unwritten(const std::filesystem::path& path,
                                  int error_number) {
  throw DeviceError(text("[",
                         path.string(),
                         "] write did not complete: ",
                         std::strerror(error_number)));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;  // open() below reports why the folder is missing
  std::filesystem::create_directories(path_.parent_path(), ignored);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  TITAN_USER_CHECK(descriptor_ >= 0,
                   "[",
                   path_.string(),
                   "] cannot be opened for writing: ",
                   std::strerror(errno));
  size_bytes_ = ::lseek(descriptor_, 0, SEEK_END);
}

AppendFile::~AppendFile() {
  ::close(descriptor_);
}

void AppendFile::append(std::string_view record) {
  const int error_number = write_all(descriptor_, record);
  if (error_number == 0) {
    size_bytes_ += static_cast<int64_t>(record.size());
    return;
  }
  // If cutting fails too, the reader drops the torn record; nothing is lost
  // that this call had promised.
  if (::ftruncate(descriptor_, size_bytes_) == 0) {
    ::lseek(descriptor_, size_bytes_, SEEK_SET);
  }
  throw_unwritten(path_, error_number);
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0) throw_unwritten(path_, errno);
}

void replace_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  std::filesystem::remove(temporary);
  {
    AppendFile file(temporary);
    file.append(content);
    file.sync();
  }
  std::filesystem::rename(temporary, path);
}

}  // namespace titan

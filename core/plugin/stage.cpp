// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/stage.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <titan/text.h>

#include "core/plugin/error_code.h"

namespace titan::plugin {
namespace {

// Since Linux 6.3; without it some systems forbid to map the file executable.
constexpr unsigned kMemfdExec = 0x10;

[[noreturn]] void throw_stage_error(const PluginBytes& file,
                                    std::string_view step) {
  const int error = errno;
  throw_code(Code::kDlopen,
             file.path,
             text("cannot stage ",
                  file.path,
                  ": expected ",
                  step,
                  " to work, got '",
                  std::strerror(error),
                  "'. Does this system allow to map files as executable?"));
}

bool write_all(int fd, const PluginBytes& file) {
  std::size_t at = 0;
  while (at < file.bytes.size()) {
    const ssize_t put =
        ::write(fd, file.bytes.data() + at, file.bytes.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += static_cast<std::size_t>(put);
  }
  return true;
}

StagedFile stage_in_memory(const PluginBytes& file) {
  const std::string name = file.path.substr(file.path.find_last_of('/') + 1);
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = ::memfd_create(name.substr(0, 200).c_str(), kFlags | kMemfdExec);
  if (fd < 0 && errno == EINVAL)
    fd = ::memfd_create(name.substr(0, 200).c_str(), kFlags);
  if (fd < 0) throw_stage_error(file, "memfd_create");
  constexpr int kSeals =
      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (!write_all(fd, file) || ::fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    throw_stage_error(file, "writing and sealing a memory file");
  }
  return {text("/proc/self/fd/", fd)};
}

StagedFile stage_in_folder(const PluginBytes& file,
                           const std::string& sha256,
                           const std::string& folder) {
  static std::atomic<int> generation{0};
  const std::string path =
      text(folder, '/', sha256, '.', ::getpid(), '.', ++generation, ".so");
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
  if (fd < 0) throw_stage_error(file, text("creating ", path));
  const bool is_written = write_all(fd, file);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!is_written) throw_stage_error(file, text("writing ", path));
  return {path};
}

}  // namespace

StagedFile stage_plugin(const PluginBytes& file,
                        const std::string& sha256,
                        const std::string& folder) {
  return folder.empty() ? stage_in_memory(file)
                        : stage_in_folder(file, sha256, folder);
}

}  // namespace titan::plugin

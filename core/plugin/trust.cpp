// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <titan/text.h>

#include "core/plugin/error_code.h"

namespace titan::plugin {
namespace {

constexpr int kMaxLinks = 40;  // as Linux
constexpr std::int64_t kMaxBytes = std::int64_t{4} << 30;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// User private groups: the group of the same name with no other member.
bool is_owners_own_group(uid_t owner, gid_t group) {
  char user_buffer[4096], group_buffer[4096];
  passwd user_entry{}, *user = nullptr;
  struct group entry {};
  struct group* found = nullptr;
  if (::getpwuid_r(
          owner, &user_entry, user_buffer, sizeof user_buffer, &user) != 0 ||
      user == nullptr || user->pw_gid != group)
    return false;
  if (::getgrgid_r(group, &entry, group_buffer, sizeof group_buffer, &found) !=
          0 ||
      found == nullptr || std::strcmp(found->gr_name, user->pw_name) != 0)
    return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member)
    if (std::strcmp(*member, user->pw_name) != 0) return false;
  return true;
}

std::optional<std::string> distrust_of(const std::string& path,
                                       const struct stat& info) {
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return text(path,
                ": expected owner root or user ",
                ::geteuid(),
                ", got user ",
                info.st_uid);
  }
  if (S_ISLNK(info.st_mode)) return std::nullopt;  // its folder decides
  const bool is_safe_sticky =
      S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) && info.st_uid == 0;
  if (is_safe_sticky) return std::nullopt;
  if (info.st_mode & S_IWOTH)
    return text(path, ": expected not world-writable, got a path that is");
  if ((info.st_mode & S_IWGRP) &&
      !is_owners_own_group(info.st_uid, info.st_gid)) {
    return text(path,
                ": expected not group-writable (or the owner's own group), "
                "got writable by group ",
                info.st_gid);
  }
  return std::nullopt;
}

struct Resolved {
  std::string path;
  int error = 0;
  std::optional<std::string> distrust;
};

std::deque<std::string> split(const std::string& path) {
  std::deque<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// Walks an absolute path part by part, checking whatever it passes through.
Resolved resolve(const std::string& path) {
  Resolved out{"/", 0, std::nullopt};
  std::deque<std::string> rest = split(path);
  int num_links = 0;
  rest.push_front(".");  // the root folder itself
  while (!rest.empty()) {
    const std::string part = rest.front();
    rest.pop_front();
    if (part == "..") {
      const std::size_t slash = out.path.find_last_of('/');
      out.path.resize(slash == 0 ? 1 : slash);
      continue;
    }
    const std::string next = part == "."       ? out.path
                             : out.path == "/" ? out.path + part
                                               : out.path + '/' + part;
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0) {
      out.error = errno;
      return out;
    }
    if (!out.distrust) out.distrust = distrust_of(next, info);
    if (!S_ISLNK(info.st_mode)) {
      out.path = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t size = ::readlink(next.c_str(), target, sizeof target);
    if (size <= 0 || ++num_links > kMaxLinks) {
      out.error = size <= 0 ? errno : ELOOP;
      return out;
    }
    const std::string link(target, static_cast<std::size_t>(size));
    if (link.front() == '/') out.path = "/";
    auto hops = split(link);
    rest.insert(rest.begin(), hops.begin(), hops.end());
  }
  return out;
}

[[noreturn]] void throw_open_error(const std::string& path, int error) {
  if (error == EACCES || error == EPERM) {
    throw_code(Code::kUnreadable,
               path,
               text("cannot read ",
                    path,
                    ": expected permission for user ",
                    ::geteuid(),
                    ", got '",
                    std::strerror(error),
                    "'. ",
                    code_info(Code::kUnreadable).hint));
  }
  throw_code(Code::kNotFound,
             path,
             text("no such file: expected a plugin at ",
                  path,
                  ", got '",
                  std::strerror(error),
                  "'. ",
                  code_info(Code::kNotFound).hint));
}

void require_file(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode) && info.st_size <= kMaxBytes) return;
  const std::string got = S_ISDIR(info.st_mode)   ? "a directory"
                          : S_ISREG(info.st_mode) ? text(info.st_size, " bytes")
                                                  : "a device or pipe";
  throw_code(Code::kNotAFile,
             path,
             text("not a plugin file: expected a file of at most ",
                  kMaxBytes,
                  " bytes at ",
                  path,
                  ", got ",
                  got,
                  ". ",
                  code_info(Code::kNotAFile).hint));
}

std::vector<std::byte> read_all(const std::string& path,
                                int fd,
                                std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t at = 0;
  while (at < size) {
    const ssize_t got = ::read(fd, bytes.data() + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_open_error(path, errno);
    if (got == 0) break;  // it shrank meanwhile: the parser reports what is cut
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace

std::optional<std::string> distrust_reason(const std::string& path) {
  const Resolved resolved = resolve(path);
  if (resolved.distrust) return resolved.distrust;
  if (resolved.error != 0)
    return text(path, ": ", std::strerror(resolved.error));
  return std::nullopt;
}

PluginBytes read_plugin(const std::string& path, Trust trust) {
  const Resolved resolved = resolve(path);
  if (resolved.error != 0) throw_open_error(path, resolved.error);
  struct stat info {};
  if (::lstat(resolved.path.c_str(), &info) != 0) throw_open_error(path, errno);
  require_file(path, info);
  if (trust == Trust::kRequired && resolved.distrust) {
    throw_code(Code::kUntrustedPath,
               path,
               text("another user could have written this code: ",
                    *resolved.distrust,
                    ". ",
                    code_info(Code::kUntrustedPath).hint));
  }
  const FileDescriptor fd(
      ::open(resolved.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (fd.get() < 0) throw_open_error(path, errno);
  if (::fstat(fd.get(), &info) != 0) throw_open_error(path, errno);
  require_file(path, info);
  return {path,
          resolved.path,
          read_all(path, fd.get(), static_cast<std::size_t>(info.st_size))};
}

}  // namespace titan::plugin

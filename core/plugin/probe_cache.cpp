// SPDX-License-Identifier: BSD-3-Clause
// One empty file per probed plugin: <folder>/<sha256>-<host build id>.
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "core/plugin/probe.h"
#include "core/plugin/trust.h"

namespace titan::plugin {
namespace {

std::string user_cache_folder() {
  const auto environment = [](const char* name) -> std::string {
    const char* value = ::secure_getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
  };
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/titan/probed";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache/titan/probed";
}

}  // namespace

ProbeCache::ProbeCache(std::string folder, std::string host_build_id)
    : folder_(folder.empty() ? user_cache_folder() : std::move(folder)),
      host_build_id_(std::move(host_build_id)) {}

std::string ProbeCache::path(const std::string& sha256) const {
  return folder_ + '/' + sha256 + '-' + host_build_id_;
}

bool ProbeCache::contains(const std::string& sha256) const {
  // A host without a build id cannot be told from the next one.
  if (folder_.empty() || host_build_id_.empty()) return false;
  return ::access(path(sha256).c_str(), F_OK) == 0 &&
         !distrust_reason(path(sha256));
}

void ProbeCache::add(const std::string& sha256) const {
  if (folder_.empty() || host_build_id_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const int fd = ::open(
      path(sha256).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) ::close(fd);
}

}  // namespace titan::plugin

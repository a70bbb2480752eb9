// SPDX-License-Identifier: BSD-3-Clause
// What the loader's tests share: where the plugins of tests/abi/plugins are, a
// folder that goes away, and a host that offers nothing.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include <titan/abi.h>
#include <titan/error.h>

#include "core/plugin/error_code.h"
#include "core/plugin/registry.h"

namespace titan::plugin::testing {

inline std::string test_plugin(const std::string& name) {
  return std::string(TITAN_TEST_PLUGIN_DIR) + "/lib" + name + ".so";
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "titan_plugin_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_; }
  std::string file(const std::string& name) const {
    return (path_ / name).string();
  }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return file(name);
  }
  /// A copy of a test plugin under another name.
  std::string copy(const std::string& plugin, const std::string& name) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::filesystem::copy_file(test_plugin(plugin), path_ / name);
    return file(name);
  }
  /// A copy with bytes of its own, which this process has not mapped before.
  std::string fresh_copy(const std::string& plugin,
                         const std::string& name) const {
    static int generation = 0;
    const std::string out = copy(plugin, name);
    std::ofstream(out, std::ios::binary | std::ios::app) << ++generation;
    return out;
  }

 private:
  std::filesystem::path path_;
};

inline const titan_host_api& bare_host() {
  static const titan_host_api host = [] {
    titan_host_api out{};
    out.struct_size = sizeof out;
    return out;
  }();
  return host;
}

/// Probes are remembered in a folder of the test, not of the user.
inline LoadOptions options_in(const TemporaryFolder& folder) {
  LoadOptions out;
  out.probe_cache_folder = folder.file("probed");
  return out;
}

/// The error's text and code of a call that must throw UserError.
struct Caught {
  Code code{};
  std::string text;
};

template <typename Call>
Caught catch_user_error(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return {Code{error.code()}, error.what()};
  }
  FAIL("expected a UserError, got none");
  return {};
}

}  // namespace titan::plugin::testing

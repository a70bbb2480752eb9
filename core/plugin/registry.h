// SPDX-License-Identifier: BSD-3-Clause
// Every plugin of the process: found, judged, loaded. Start-up is one thread;
// afterwards any thread may read. A plugin is registered with all of its
// components or with none. Libraries are never unmapped; whoever uses a table
// keeps its `owner` all the same, so that this can change.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <titan/abi.h>

#include "core/plugin/error_code.h"
#include "core/plugin/host_facts.h"
#include "core/plugin/loaded_plugin.h"
#include "core/plugin/manifest.h"
#include "core/plugin/search.h"

namespace titan::plugin {

enum class State {
  kAvailable,  ///< usable, not mapped
  kLoaded,
  kShadowed,  ///< an earlier folder has the same
  kSkipped,   ///< sound, but for other hardware
  kFailed,
};

std::string state_name(State state);

/// One row of `titan plugin list`.
struct PluginStatus {
  std::string path;
  std::string real_path;
  Level level = Level::kExplicit;
  State state = State::kFailed;
  int code = 0;        ///< of docs/errors.md; 0 = well
  std::string reason;  ///< why it is not usable; whole message
  std::string sha256;
  std::optional<Manifest> manifest;  ///< if its note could be read
};

struct LoadOptions {
  /// Empty: sealed memory. A folder: copies there, for debuggers.
  std::string stage_folder;
  /// Where probed plugins are remembered; empty = the user's cache folder.
  std::string probe_cache_folder;
  std::chrono::milliseconds probe_timeout{10000};
  bool is_pin_required = false;  ///< `plugins.policy: locked`
  /// Plugin name -> the sha256 it must have (titan.lock).
  std::map<std::string, std::string> pins;
};

class PluginRegistry {
 public:
  /// `host` is borrowed for the life of the process.
  explicit PluginRegistry(const titan_host_api* host,
                          HostFacts facts = gather_host_facts(),
                          LoadOptions options = {});
  ~PluginRegistry();
  PluginRegistry(const PluginRegistry&) = delete;
  PluginRegistry& operator=(const PluginRegistry&) = delete;

  /// Finds and judges without running any plugin's code. What cannot be used is
  /// in `list` with its reason. Two files of one level that give one id are
  /// both AMBIGUOUS; an earlier level shadows a later one; only an explicit
  /// path may take a built-in's id.
  void scan(const SearchOptions& search);

  /// Loads one file by absolute path. Throws UserError with the code of
  /// whatever is wrong; then nothing has changed. The same bytes again return
  /// what is loaded. `sha256_pin`: the hash it must have; empty = that of
  /// LoadOptions::pins, if any.
  std::shared_ptr<const LoadedPlugin> load(const std::string& path,
                                           const std::string& sha256_pin = {});

  /// `scan`, then loads all that is usable, but plugins of datasets alone,
  /// which wait for `require`. Explicit files must load (throws); others that
  /// do not are in `list`.
  void load_all(const SearchOptions& search);

  /// The component if it is loaded; throws UserError otherwise, with the
  /// nearest id, and the file that would provide it.
  const Component& find(const std::string& kind, const std::string& id) const;

  /// As `find`, after loading the scanned file that provides it.
  const Component& require(const std::string& kind, const std::string& id);

  /// Null if it is not loaded.
  const Component* try_find(const std::string& kind,
                            const std::string& id) const;

  /// Loaded components of a kind ("" = all), sorted by id.
  std::vector<const Component*> components(const std::string& kind) const;

  /// Everything found so far, in order of precedence.
  std::vector<PluginStatus> list() const;

  /// The folders of the last scan.
  std::vector<SearchFolder> folders() const;

  const HostFacts& facts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::plugin

// SPDX-License-Identifier: BSD-3-Clause
// Runs the entries of plugins never seen before in a child process first, so
// that a crash or a hang in one is an error with a name and not the end of the
// job. It protects from mistakes, not from malice: a plugin is trusted code.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <titan/abi.h>

#include "core/plugin/inspection.h"
#include "core/plugin/stage.h"

namespace titan::plugin {

struct ProbeTarget {
  const Inspection* inspection;  ///< usable
  StagedFile staged;
};

inline constexpr std::chrono::seconds kProbeTimeout{10};

/// Maps and describes each target in a forked child; one child serves all, and
/// a new one goes on after a crash. Result i: what is wrong with target i,
/// nothing if it is well. Blocks at most `timeout` per target.
std::vector<std::optional<Diagnostic>> probe_plugins(
    std::span<const ProbeTarget> targets,
    const titan_host_api& host,
    std::chrono::milliseconds timeout = kProbeTimeout);

/// Which bytes were probed well, by which build of the host. Only successes
/// are kept: a failure is tried again each time. Without a folder that only
/// this user can write, nothing is remembered.
class ProbeCache {
 public:
  /// An empty `folder` stands for the user's cache folder.
  ProbeCache(std::string folder, std::string host_build_id);
  bool contains(const std::string& sha256) const;
  /// Does nothing where the folder cannot be written: the cost is a probe.
  void add(const std::string& sha256) const;

 private:
  std::string path(const std::string& sha256) const;

  std::string folder_;
  std::string host_build_id_;
};

}  // namespace titan::plugin

// SPDX-License-Identifier: BSD-3-Clause
// Plugins that were built together with this host: `manifest.json` beside them,
// written by the build, lists their hashes. They need no probe at run time.
#pragma once

#include <map>
#include <string>

namespace titan::plugin {

/// File name -> sha256 of the folder's manifest.json; empty if there is none,
/// if it is broken or if another user could have written it (the plugins are
/// then treated as anybody's).
std::map<std::string, std::string> first_party_hashes(
    const std::string& folder);

}  // namespace titan::plugin

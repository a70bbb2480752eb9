// SPDX-License-Identifier: BSD-3-Clause
// Files that were found, with the verdict on each: by itself (inspection) and
// beside the others (who gives which id).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plugin/inspection.h"
#include "core/plugin/loaded_plugin.h"
#include "core/plugin/registry.h"
#include "core/plugin/search.h"

namespace titan::plugin {

struct Candidate {
  Level level = Level::kExplicit;
  Inspection inspection;
  State state = State::kAvailable;
  int code = 0;
  std::string reason;
  std::shared_ptr<const LoadedPlugin> loaded;

  void fail(const Diagnostic& diagnostic) {
    state = State::kFailed;
    code = static_cast<int>(diagnostic.code);
    reason = diagnostic.text;
  }
};

/// State by inspection alone.
Candidate make_candidate(Level level, Inspection inspection);

/// Settles ids that several candidates give. `candidates` are in order of
/// precedence, those that are loaded first.
void settle_duplicates(std::vector<Candidate>& candidates);

}  // namespace titan::plugin

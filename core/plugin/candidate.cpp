// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/candidate.h"

#include <map>
#include <utility>

#include <titan/text.h>

namespace titan::plugin {
namespace {

std::string place(const Candidate& candidate) {
  return text(
      candidate.inspection.path, " (", level_name(candidate.level), ')');
}

/// What a plugin claims: its name and each id.
std::vector<std::string> claims(const Manifest& manifest) {
  std::vector<std::string> out = {"plugin " + manifest.name};
  for (const ManifestComponent& component : manifest.components)
    out.push_back(component.kind + ' ' + component.id);
  return out;
}

Diagnostic clash(Code code,
                 const Candidate& of,
                 const Candidate& other,
                 std::string_view what,
                 std::string_view key) {
  return {code,
          code_text(code,
                    of.inspection.path,
                    text(what,
                         ": expected one file with '",
                         key,
                         "', got ",
                         place(of),
                         " and ",
                         place(other),
                         ". ",
                         code_info(code).hint))};
}

void shadow(Candidate& hidden, const Candidate& by, std::string_view why) {
  hidden.state = State::kShadowed;
  hidden.reason = text(why, ' ', place(by));
}

/// `later` claims what `earlier` has. True if `later` takes it over.
bool settle(Candidate& earlier, Candidate& later, const std::string& key) {
  if (earlier.inspection.sha256 == later.inspection.sha256) {
    shadow(later, earlier, "same bytes as");
    return false;
  }
  if (earlier.level == later.level && !earlier.loaded) {
    constexpr std::string_view kWhat = "two files of one rank give one id";
    earlier.fail(clash(Code::kAmbiguous, earlier, later, kWhat, key));
    later.fail(clash(Code::kAmbiguous, later, earlier, kWhat, key));
    return false;
  }
  // Found by search is not asked for: it may not stand in for a built-in.
  if (later.level == Level::kBuiltIn && earlier.level != Level::kExplicit &&
      !earlier.loaded) {
    earlier.fail(clash(Code::kDuplicateId,
                       earlier,
                       later,
                       "a plugin found by search takes a built-in's id",
                       key));
    return true;
  }
  shadow(later, earlier, "hidden by");
  return false;
}

}  // namespace

Candidate make_candidate(Level level, Inspection inspection) {
  Candidate out;
  out.level = level;
  if (!inspection.is_usable()) {
    out.fail(inspection.diagnostics.front());
    out.reason = inspection.problem_text();
    if (inspection.is_skipped()) out.state = State::kSkipped;
  }
  out.inspection = std::move(inspection);
  return out;
}

void settle_duplicates(std::vector<Candidate>& candidates) {
  std::map<std::string, std::size_t> owners;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& later = candidates[i];
    const bool is_judged =
        later.state == State::kAvailable || later.state == State::kLoaded;
    if (!is_judged) continue;
    for (const std::string& key : claims(*later.inspection.manifest)) {
      const auto [owner, is_new] = owners.try_emplace(key, i);
      if (is_new || owner->second == i) continue;
      if (settle(candidates[owner->second], later, key))
        owner->second = i;
      else
        break;
    }
  }
}

}  // namespace titan::plugin

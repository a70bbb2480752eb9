// SPDX-License-Identifier: BSD-3-Clause
// Two locks: `loading_` makes loads one after another, `data_` guards what
// readers see, for moments only, so that a load never makes a reader wait.
#include "core/plugin/registry.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <titan/error.h>

#include "core/plugin/candidate.h"
#include "core/plugin/first_party.h"
#include "core/plugin/loader.h"
#include "core/plugin/missing_component.h"
#include "core/plugin/probe.h"
#include "core/plugin/stage.h"

namespace titan::plugin {
namespace {

using Key = std::pair<std::string, std::string>;  // kind, id

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find_last_of('/'));
}

std::string name_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

[[noreturn]] void throw_inspection(const Inspection& inspection) {
  throw UserError(inspection.problem_text(),
                  static_cast<int>(inspection.diagnostics.front().code));
}

}  // namespace

std::string state_name(State state) {
  switch (state) {
    case State::kAvailable:
      return "available";
    case State::kLoaded:
      return "loaded";
    case State::kShadowed:
      return "shadowed";
    case State::kSkipped:
      return "skipped";
    case State::kFailed:
      break;
  }
  return "failed";
}

class PluginRegistry::Impl {
 public:
  Impl(const titan_host_api* host, HostFacts facts, LoadOptions options)
      : host_(host),
        facts_(std::move(facts)),
        options_(std::move(options)),
        cache_(options_.probe_cache_folder, facts_.build_id) {
    TITAN_CHECK(host_ != nullptr, "[plugin] the host table is null");
  }

  /// A file on its way into the process.
  struct Pending {
    Level level;
    Inspection inspection;
    StagedFile staged;
  };

  void scan(const SearchOptions& search) {
    const std::lock_guard loading(loading_);
    SearchResult found = search_plugins(search);
    std::vector<Candidate> candidates = loaded_candidates();
    for (const FoundFile& file : found.files) {
      Inspection inspection =
          inspect_plugin_file(file.path, facts_, Trust::kRequired);
      const bool is_loaded = std::any_of(
          candidates.begin(), candidates.end(), [&](const Candidate& other) {
            return other.loaded && other.inspection.path == file.path &&
                   other.inspection.sha256 == inspection.sha256;
          });
      if (!is_loaded)
        candidates.push_back(make_candidate(file.level, std::move(inspection)));
    }
    settle_duplicates(candidates);
    const std::unique_lock lock(data_);
    candidates_ = std::move(candidates);
    folders_ = std::move(found.folders);
  }

  std::shared_ptr<const LoadedPlugin> load(const std::string& path,
                                           const std::string& pin) {
    const std::lock_guard loading(loading_);
    Level level = Level::kExplicit;
    for (const Candidate& candidate : candidates_)
      if (candidate.inspection.path == path) level = candidate.level;
    const PluginBytes file = read_plugin(path, Trust::kRequired);
    Inspection inspection = inspect_plugin(file, facts_);
    require_pin(inspection, pin);
    if (!inspection.is_usable()) throw_inspection(inspection);
    if (auto loaded = find_loaded(inspection.sha256)) return loaded;
    require_unique(inspection);
    Pending pending{level, std::move(inspection), {}};
    pending.staged = stage(file, pending.inspection);
    if (!is_trusted(pending)) {
      const ProbeTarget target{&pending.inspection, pending.staged};
      if (const auto bad =
              probe_plugins({&target, 1}, *host_, options_.probe_timeout)[0])
        throw UserError(bad->text, static_cast<int>(bad->code));
      cache_.add(pending.inspection.sha256);
    }
    return commit(std::move(pending));
  }

  void load_all(const SearchOptions& search) {
    scan(search);
    const std::lock_guard loading(loading_);
    require_explicit();
    std::vector<Pending> pending = stage_available();
    probe_unseen(pending);
    for (Pending& item : pending) {
      const std::string path = item.inspection.path;
      try {
        commit(std::move(item));
      } catch (const UserError& error) {
        mark_failed(path, {Code{error.code()}, error.what()});
      }
    }
    require_explicit();
  }

  const Component* try_find(const Key& key) const {
    const std::shared_lock lock(data_);
    const auto found = components_.find(key);
    return found == components_.end() ? nullptr : found->second.get();
  }

  const Component& find(const Key& key) const {
    if (const Component* component = try_find(key)) return *component;
    throw_missing_component(key.first, key.second, list(), folders());
  }

  const Component& require(const Key& key) {
    if (const Component* component = try_find(key)) return *component;
    std::string path;
    for (const PluginStatus& status : list())
      if (status.state == State::kAvailable &&
          provides(status, key.first, key.second))
        path = status.path;
    if (!path.empty()) load(path, {});
    return find(key);
  }

  std::vector<const Component*> components(const std::string& kind) const {
    std::vector<const Component*> out;
    const std::shared_lock lock(data_);
    for (const auto& [key, component] : components_)
      if (kind.empty() || key.first == kind) out.push_back(component.get());
    return out;
  }

  std::vector<PluginStatus> list() const {
    std::vector<PluginStatus> out;
    const std::shared_lock lock(data_);
    for (const Candidate& item : candidates_)
      out.push_back({.path = item.inspection.path,
                     .real_path = item.inspection.real_path,
                     .level = item.level,
                     .state = item.state,
                     .code = item.code,
                     .reason = item.reason,
                     .sha256 = item.inspection.sha256,
                     .manifest = item.inspection.manifest});
    return out;
  }

  std::vector<SearchFolder> folders() const {
    const std::shared_lock lock(data_);
    return folders_;
  }

  const HostFacts& facts() const { return facts_; }

 private:
  /// What was asked for by path may not fail quietly, at whichever stage.
  void require_explicit() const {
    for (const Candidate& candidate : candidates_)
      if (candidate.level == Level::kExplicit && candidate.code != 0)
        throw UserError(candidate.reason, candidate.code);
  }

  std::vector<Candidate> loaded_candidates() const {
    std::vector<Candidate> out;
    for (const Candidate& candidate : candidates_)
      if (candidate.loaded) out.push_back(candidate);
    return out;
  }

  std::shared_ptr<const LoadedPlugin> find_loaded(
      const std::string& sha256) const {
    for (const Candidate& candidate : candidates_)
      if (candidate.loaded && candidate.loaded->sha256 == sha256)
        return candidate.loaded;
    return nullptr;
  }

  void require_pin(const Inspection& inspection, std::string pin) const {
    if (pin.empty() && inspection.manifest) {
      const auto known = options_.pins.find(inspection.manifest->name);
      if (known != options_.pins.end()) pin = known->second;
    }
    if (pin.empty() && options_.is_pin_required)
      throw_code(Code::kNotPinned,
                 inspection.path,
                 text("plugins.policy is locked: expected a pinned sha256, got "
                      "none for ",
                      inspection.path,
                      " (",
                      inspection.sha256,
                      "). ",
                      code_info(Code::kNotPinned).hint));
    if (!pin.empty() && pin != inspection.sha256)
      throw_code(Code::kShaMismatch,
                 inspection.path,
                 text("the file is not the pinned one: expected sha256 ",
                      pin,
                      ", got ",
                      inspection.sha256,
                      " for ",
                      inspection.path,
                      ". ",
                      code_info(Code::kShaMismatch).hint));
  }

  void require_unique(const Inspection& inspection) const {
    for (const ManifestComponent& component : inspection.manifest->components) {
      const Component* other = try_find({component.kind, component.id});
      if (other == nullptr) continue;
      throw_code(Code::kDuplicateId,
                 inspection.path,
                 text("a loaded plugin gives the same id: expected one file "
                      "with '",
                      component.kind,
                      ' ',
                      component.id,
                      "', got ",
                      inspection.path,
                      " and ",
                      other->owner->path,
                      ". ",
                      code_info(Code::kDuplicateId).hint));
    }
  }

  /// Nothing to stage (an empty path) where this process has the bytes mapped.
  StagedFile stage(const PluginBytes& file, const Inspection& inspection) {
    if (is_mapped(inspection, *host_, facts_)) return {};
    return stage_plugin(file, inspection.sha256, options_.stage_folder);
  }

  /// Mapped already, built with this host, or probed well before.
  bool is_trusted(const Pending& pending) const {
    const Inspection& file = pending.inspection;
    if (pending.staged.path.empty()) return true;
    if (pending.level == Level::kBuiltIn) {
      const auto hashes = first_party_hashes(folder_of(file.path));
      const auto hash = hashes.find(name_of(file.path));
      if (hash != hashes.end() && hash->second == file.sha256) return true;
    }
    return cache_.contains(file.sha256);
  }

  std::vector<Pending> stage_available() {
    std::vector<Pending> out;
    for (Candidate& candidate : candidates_) {
      if (candidate.state != State::kAvailable || waits(candidate)) continue;
      try {
        const std::string path = candidate.inspection.path;
        const PluginBytes file = read_plugin(path, Trust::kRequired);
        Inspection inspection = inspect_plugin(file, facts_);
        require_pin(inspection, {});
        if (!inspection.is_usable()) throw_inspection(inspection);
        require_unique(inspection);
        StagedFile staged = stage(file, inspection);
        out.push_back(
            {candidate.level, std::move(inspection), std::move(staged)});
      } catch (const UserError& error) {
        const std::unique_lock lock(data_);
        candidate.fail({Code{error.code()}, error.what()});
      }
    }
    return out;
  }

  /// Nothing but datasets, which only a recipe's data uses: until one is named
  /// (`require`) no run pays for its libraries (Arrow: 12 ms, 16 MB).
  static bool waits(const Candidate& candidate) {
    const auto& components = candidate.inspection.manifest->components;
    return candidate.level != Level::kExplicit &&
           std::all_of(
               components.begin(), components.end(), [](const auto& component) {
                 return component.kind == "titan.dataset/1";
               });
  }

  /// Takes those that fail their probe out of `pending`.
  void probe_unseen(std::vector<Pending>& pending) {
    std::vector<ProbeTarget> targets;
    for (const Pending& item : pending)
      if (!is_trusted(item)) targets.push_back({&item.inspection, item.staged});
    const auto results = probe_plugins(targets, *host_, options_.probe_timeout);
    std::vector<std::string> bad_paths;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Inspection& inspection = *targets[i].inspection;
      if (!results[i]) {
        cache_.add(inspection.sha256);
        continue;
      }
      bad_paths.push_back(inspection.path);
      mark_failed(inspection.path, *results[i]);
    }
    std::erase_if(pending, [&bad_paths](const Pending& item) {
      return std::find(bad_paths.begin(),
                       bad_paths.end(),
                       item.inspection.path) != bad_paths.end();
    });
  }

  void mark_failed(const std::string& path, const Diagnostic& diagnostic) {
    const std::unique_lock lock(data_);
    for (Candidate& candidate : candidates_)
      if (candidate.inspection.path == path) candidate.fail(diagnostic);
  }

  /// Maps, then registers all components at once: nothing before can be seen.
  std::shared_ptr<const LoadedPlugin> commit(Pending pending) {
    LoadResult result = load_staged(
        pending.inspection, pending.staged, pending.level, *host_, facts_);
    Candidate candidate;
    candidate.level = pending.level;
    candidate.state = State::kLoaded;
    candidate.loaded = result.plugin;
    candidate.inspection = std::move(pending.inspection);
    const std::unique_lock lock(data_);
    for (Component& component : result.components) {
      Key key{component.kind, component.id};
      components_[std::move(key)] =
          std::make_unique<Component>(std::move(component));
    }
    const auto same = std::find_if(
        candidates_.begin(), candidates_.end(), [&](const Candidate& other) {
          return other.inspection.path == candidate.inspection.path;
        });
    if (same != candidates_.end())
      *same = std::move(candidate);
    else
      candidates_.push_back(std::move(candidate));
    return result.plugin;
  }

  const titan_host_api* host_;
  const HostFacts facts_;
  const LoadOptions options_;
  const ProbeCache cache_;
  std::mutex loading_;
  mutable std::shared_mutex data_;
  std::vector<Candidate> candidates_;
  std::vector<SearchFolder> folders_;
  std::map<Key, std::unique_ptr<Component>> components_;
};

PluginRegistry::PluginRegistry(const titan_host_api* host,
                               HostFacts facts,
                               LoadOptions options)
    : impl_(
          std::make_unique<Impl>(host, std::move(facts), std::move(options))) {}

PluginRegistry::~PluginRegistry() = default;

void PluginRegistry::scan(const SearchOptions& search) {
  impl_->scan(search);
}

std::shared_ptr<const LoadedPlugin> PluginRegistry::load(
    const std::string& path,
    const std::string& sha256_pin) {
  return impl_->load(path, sha256_pin);
}

void PluginRegistry::load_all(const SearchOptions& search) {
  impl_->load_all(search);
}

const Component& PluginRegistry::find(const std::string& kind,
                                      const std::string& id) const {
  return impl_->find({kind, id});
}

const Component& PluginRegistry::require(const std::string& kind,
                                         const std::string& id) {
  return impl_->require({kind, id});
}

const Component* PluginRegistry::try_find(const std::string& kind,
                                          const std::string& id) const {
  return impl_->try_find({kind, id});
}

std::vector<const Component*> PluginRegistry::components(
    const std::string& kind) const {
  return impl_->components(kind);
}

std::vector<PluginStatus> PluginRegistry::list() const {
  return impl_->list();
}

std::vector<SearchFolder> PluginRegistry::folders() const {
  return impl_->folders();
}

const HostFacts& PluginRegistry::facts() const {
  return impl_->facts();
}

}  // namespace titan::plugin

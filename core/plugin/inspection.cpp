// SPDX-License-Identifier: BSD-3-Clause
// Order of the checks = order of the load algorithm in docs/plugins.md.
#include "core/plugin/inspection.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <titan/abi.h>
#include <titan/error.h>

#include "core/plugin/sha256.h"
#include "core/plugin/symbol_policy.h"
#include "core/plugin/torch_shim.h"

namespace titan::plugin {
namespace {

constexpr std::string_view kEntrySymbol = "titan_plugin_entry_v1";
constexpr std::size_t kMaxListed = 4;

/// "a, b, c, d and 3 more"
std::string list_text(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxListed); ++i)
    out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMaxListed)
    out += text(" and ", names.size() - kMaxListed, " more");
  return out;
}

/// "GLIBC_2.38" after "GLIBC_2.4": runs of digits compare as numbers.
bool is_version_less(std::string_view a, std::string_view b) {
  return ::strverscmp(std::string(a).c_str(), std::string(b).c_str()) < 0;
}

class Judge {
 public:
  Judge(const HostFacts& host, Inspection& out) : host_(host), out_(out) {}

  void run(std::span<const std::byte> bytes) {
    try {
      out_.elf = parse_elf(bytes, out_.path);
    } catch (const UserError& error) {
      out_.diagnostics.push_back({Code{error.code()}, error.what()});
      return;
    }
    check_hardening();
    read_note();
    if (!out_.manifest) return;
    check_abi();
    check_torch_target();
    check_string_abi();
    check_system_versions();
    check_needs();
    check_symbols();
    check_entry();
    check_components();
  }

 private:
  const ElfFile& elf() const { return *out_.elf; }
  const Manifest& manifest() const { return *out_.manifest; }

  void report(Code code, std::string_view what, std::string_view fix = "") {
    const std::string_view hint = fix.empty() ? code_info(code).hint : fix;
    out_.diagnostics.push_back(
        {code, code_text(code, out_.path, text(what, ". ", hint))});
  }

  void check_hardening() {
    if (elf().has_executable_stack)
      report(Code::kHardening,
             "the stack would become executable: expected a non-executable "
             "GNU_STACK, got an executable one",
             "Link with -Wl,-z,noexecstack.");
    if (elf().has_text_relocations)
      report(Code::kHardening,
             "code would be rewritten at load: expected position-independent "
             "code, got TEXTREL",
             "Compile with -fPIC.");
    for (const std::string& path : elf().run_paths) {
      if (path.starts_with('/') || path.starts_with("$ORIGIN")) continue;
      report(Code::kHardening,
             text("libraries would be searched relative to the working "
                  "directory: expected absolute RPATH entries, got '",
                  path,
                  '\''),
             "Link with an absolute -rpath, or with none.");
    }
  }

  const ElfNote* find_note(std::uint32_t type) const {
    for (const ElfNote& note : elf().titan_notes)
      if (note.type == type) return &note;
    return nullptr;
  }

  void read_note() {
    const ElfNote* json = find_note(TITAN_NOTE_TYPE_MANIFEST);
    const ElfNote* header = find_note(TITAN_NOTE_TYPE_HEADER);
    if (json == nullptr && header == nullptr) {
      report(Code::kNoNote,
             "not a Titan plugin: expected an ELF note of owner TITAN, got "
             "none");
      return;
    }
    if (header != nullptr && !read_header_note(header->content)) return;
    if (json == nullptr) {
      report(Code::kBadManifest,
             "the note is incomplete: expected a manifest (type 1), got the "
             "header alone");
      return;
    }
    try {
      out_.manifest = parse_manifest(json->content, out_.path);
    } catch (const UserError& error) {
      out_.diagnostics.push_back({Code{error.code()}, error.what()});
    }
  }

  /// False if the manifest's grammar may be unknown here.
  bool read_header_note(std::string_view content) {
    titan_note_header header{};
    if (content.size() < sizeof header) {
      report(Code::kBadManifest,
             text("the note's header is short: expected ",
                  sizeof header,
                  " bytes, got ",
                  content.size()));
      return false;
    }
    std::memcpy(&header, content.data(), sizeof header);
    if (header.magic != TITAN_NOTE_MAGIC) {
      report(Code::kBadManifest,
             text("the note's header is broken: expected magic ",
                  TITAN_NOTE_MAGIC,
                  ", got ",
                  header.magic));
      return false;
    }
    return check_major(header.abi_major);
  }

  bool check_major(std::uint32_t major) {
    if (major == host_.abi_major) return true;
    report(Code::kAbiMajor,
           text("built for another plugin ABI: expected major ",
                host_.abi_major,
                ", got ",
                major));
    return false;
  }

  void check_abi() {
    if (find_note(TITAN_NOTE_TYPE_HEADER) == nullptr)
      check_major(manifest().abi_major);
    if (manifest().abi_minor_min > host_.abi_minor) {
      report(Code::kAbiMinor,
             text("needs a newer plugin ABI: expected at most ",
                  host_.abi_major,
                  '.',
                  host_.abi_minor,
                  ", got ",
                  manifest().abi_major,
                  '.',
                  manifest().abi_minor_min));
    }
  }

  void check_torch_target() {
    const TorchVersion target = manifest().torch_target;
    if (target == 0 || target <= host_.torch_version) return;
    report(Code::kTorchTooOld,
           text("LibTorch is too old: expected LibTorch >= ",
                torch_version_text(target),
                " (the plugin's target), got ",
                torch_version_text(host_.torch_version)));
  }

  void check_string_abi() {
    if (!manifest().cxx11_abi || *manifest().cxx11_abi == host_.cxx11_abi)
      return;
    report(Code::kStringAbi,
           text("built with another std::string: expected "
                "_GLIBCXX_USE_CXX11_ABI=",
                host_.cxx11_abi,
                " (this host), got _GLIBCXX_USE_CXX11_ABI=",
                *manifest().cxx11_abi,
                " (the plugin, ",
                manifest().compiler,
                ')'));
  }

  void check_system_versions() {
    for (const ElfVersionNeed& need : elf().version_needs) {
      const auto library = host_.versions.find(need.file);
      if (library == host_.versions.end() ||
          library->second.contains(need.version))
        continue;
      const std::string prefix =
          need.version.substr(0, need.version.find('_') + 1);
      std::string newest = "none";
      for (const std::string& version : library->second)
        if (version.starts_with(prefix) &&
            (newest == "none" || is_version_less(newest, version)))
          newest = version;
      report(Code::kGlibc,
             text("the system is too old: expected ",
                  need.version,
                  " of ",
                  need.file,
                  ", got at most ",
                  newest));
    }
  }

  void check_needs() {
    for (const std::string& name : elf().needed) {
      const auto& needs = manifest().needs;
      if (is_runtime_library(name) || is_torch_library(name) ||
          std::find(needs.begin(), needs.end(), name) != needs.end())
        continue;
      report(Code::kBadManifest,
             text("links a library that it does not declare: expected '",
                  name,
                  "' in the note's needs, got [",
                  list_text(needs),
                  ']'),
             "Declare it in the plugin's `needs`.");
    }
  }

  void check_symbols() {
    std::vector<std::string> unstable, registering, unknown, absent;
    for (const ElfSymbol& symbol : elf().undefined) {
      switch (classify_symbol(symbol, manifest().needs)) {
        case SymbolClass::kUnstable:
          unstable.push_back(symbol.name);
          break;
        case SymbolClass::kRegisters:
          registering.push_back(symbol.name);
          break;
        case SymbolClass::kUnknown:
          unknown.push_back(symbol.name);
          break;
        case SymbolClass::kShim:
          if (!host_.has_symbol || !host_.has_symbol(symbol.name))
            absent.push_back(symbol.name);
          break;
        case SymbolClass::kRuntime:
        case SymbolClass::kDeclared:
          break;  // the system's loader resolves these
      }
    }
    report_symbols(unstable, registering, unknown);
    if (!absent.empty()) report_absent_shim(absent);
  }

  void report_symbols(const std::vector<std::string>& unstable,
                      const std::vector<std::string>& registering,
                      const std::vector<std::string>& unknown) {
    if (!unstable.empty())
      report(Code::kUnstableSymbol,
             text("links C++ of LibTorch or of the host, which changes between "
                  "versions: expected none, got ",
                  list_text(unstable)));
    if (!registering.empty())
      report(Code::kUnstableSymbol,
             text("registers global LibTorch ops, which outlive a plugin: "
                  "expected none, got ",
                  list_text(registering)));
    if (!unknown.empty())
      report(Code::kMissingSymbol,
             text("links what nothing provides: expected symbols of the C and "
                  "C++ runtimes, of LibTorch's C shim or of declared needs, "
                  "got ",
                  list_text(unknown)));
  }

  void report_absent_shim(const std::vector<std::string>& absent) {
    if (host_.torch_version == 0) {
      report(Code::kTorchTooOld,
             text("LibTorch is not in this process: expected its functions ",
                  list_text(absent),
                  ", got none"),
             "Load the plugin from `titan`, which links LibTorch.");
      return;
    }
    TorchVersion since = 0;
    for (const std::string& name : absent)
      since = std::max(since, shim_since(name).value_or(0));
    report(
        Code::kTorchTooOld,
        text("LibTorch is too old: expected LibTorch >= ",
             since == 0 ? "a version that has it" : torch_version_text(since),
             " (it uses ",
             list_text(absent),
             "), got ",
             torch_version_text(host_.torch_version)));
  }

  void check_entry() {
    const auto& exported = elf().exported;
    const bool has_entry =
        std::any_of(exported.begin(), exported.end(), [](const auto& symbol) {
          return symbol.name == kEntrySymbol;
        });
    if (!has_entry)
      report(Code::kNoEntry,
             text("there is no way in: expected the exported symbol ",
                  kEntrySymbol,
                  ", got ",
                  exported.size(),
                  " other symbols"));
  }

  /// A plugin of which nothing can be used is refused; one of which something
  /// can is loaded for that.
  void check_components() {
    std::vector<Diagnostic> refusals;
    std::set<std::pair<std::string, std::string>> ids;
    for (const ManifestComponent& component : manifest().components) {
      if (!ids.emplace(component.kind, component.id).second)
        report(Code::kDuplicateId,
               text("one plugin gives an id twice: expected unique ids, got ",
                    component.kind,
                    ' ',
                    component.id));
      if (auto refusal = refuse_component(component, host_, out_.path))
        refusals.push_back(std::move(*refusal));
    }
    if (refusals.size() == manifest().components.size())
      out_.diagnostics.push_back(refusals.front());
  }

  const HostFacts& host_;
  Inspection& out_;
};

std::string cpu_text(std::uint64_t features) {
  std::vector<std::string> names;
  const auto known = cpu_feature_names();
  for (std::size_t i = 0; i < known.size(); ++i)
    if (features >> i & 1) names.emplace_back(known[i]);
  return names.empty() ? "none of them" : list_text(names);
}

std::optional<std::string> refuse_target(const KernelMatch& kernel,
                                         const HostFacts& host) {
  if (kernel.device == TITAN_DEVICE_CPU && host.cpu_features) {
    const std::uint64_t lacking = kernel.cpu_features & ~*host.cpu_features;
    if (lacking != 0)
      return text("this CPU lacks what it is built for: expected ",
                  cpu_text(kernel.cpu_features),
                  ", got no ",
                  cpu_text(lacking));
  }
  if (kernel.device == TITAN_DEVICE_CUDA && host.cuda_archs) {
    for (const std::uint32_t arch : *host.cuda_archs)
      if (arch >= kernel.arch_min &&
          (kernel.arch_max == 0 || arch <= kernel.arch_max))
        return std::nullopt;
    return text("no such GPU here: expected sm_",
                kernel.arch_min,
                " to sm_",
                kernel.arch_max,
                ", got ",
                *host.cuda_archs);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> refuse_component(const ManifestComponent& component,
                                           const HostFacts& host,
                                           std::string_view file) {
  const auto refuse = [&](Code code, std::string_view what) {
    return Diagnostic{
        code,
        code_text(code,
                  file,
                  text(component.id, ": ", what, ". ", code_info(code).hint))};
  };
  constexpr std::string_view kKinds[] = {"titan.model/1",
                                         "titan.kernel/1",
                                         "titan.optimizer/1",
                                         "titan.parallel/1",
                                         "titan.storage/1",
                                         "titan.dataset/1",
                                         "titan.transform/1"};
  if (std::find(std::begin(kKinds), std::end(kKinds), component.kind) ==
      std::end(kKinds))
    return refuse(Code::kKindRevision,
                  text("a kind that this host does not know: expected "
                       "titan.model/1, titan.kernel/1, titan.optimizer/1, "
                       "titan.parallel/1, titan.storage/1, titan.dataset/1 or "
                       "titan.transform/1, got ",
                       component.kind));
  if (!component.kernel) return std::nullopt;
  if (auto what = refuse_target(*component.kernel, host))
    return refuse(Code::kTargetAbsent, *what);
  return std::nullopt;
}

bool Inspection::is_skipped() const {
  return !diagnostics.empty() &&
         std::all_of(
             diagnostics.begin(), diagnostics.end(), [](const auto& item) {
               return item.code == Code::kTargetAbsent ||
                      item.code == Code::kKindRevision;
             });
}

std::string Inspection::problem_text() const {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics)
    out += (out.empty() ? "" : "\n") + diagnostic.text;
  return out;
}

Inspection inspect_plugin(const PluginBytes& file, const HostFacts& host) {
  Inspection out;
  out.path = file.path;
  out.real_path = file.real_path;
  out.size_bytes = file.bytes.size();
  out.sha256 = sha256_hex(file.bytes);
  Judge(host, out).run(file.bytes);
  return out;
}

Inspection inspect_plugin_file(const std::string& path,
                               const HostFacts& host,
                               Trust trust) {
  try {
    return inspect_plugin(read_plugin(path, trust), host);
  } catch (const UserError& error) {
    Inspection out;
    out.path = out.real_path = path;
    out.diagnostics.push_back({Code{error.code()}, error.what()});
    return out;
  }
}

std::vector<std::string> resident_reasons(const ElfFile& elf) {
  std::vector<std::string> out;
  if (elf.has_unique_symbols) out.emplace_back("GNU_UNIQUE symbols");
  if (elf.is_no_delete) out.emplace_back("DF_1_NODELETE");
  for (const ElfSymbol& symbol : elf.undefined) {
    if (symbol.name == "__cxa_thread_atexit")
      out.emplace_back("thread_local with a destructor");
    if (symbol.name == "__cudaRegisterFatBinary")
      out.emplace_back("registers CUDA code");
  }
  return out;
}

}  // namespace titan::plugin

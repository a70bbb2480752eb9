// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/manifest.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/plugin/error_code.h"

namespace titan::plugin {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxName = 256;

// Names by bit: TITAN_CPU_..., TITAN_KERNEL_..., torch's ScalarType.
constexpr std::string_view kCpuFeatures[] = {"avx2",
                                             "fma",
                                             "avx512f",
                                             "avx512bw",
                                             "avx512vl",
                                             "avx512dq",
                                             "avx512_bf16",
                                             "amx_tile",
                                             "amx_bf16",
                                             "amx_int8"};
constexpr std::string_view kKernelFlags[] = {"deterministic",
                                             "graph_safe",
                                             "backward",
                                             "needs_contiguous",
                                             "batch_invariant"};
constexpr std::string_view kDtypes[] = {
    "u8", "i8", "i16",  "i32", "i64", "f16",     "f32",    "f64", "",
    "",   "",   "bool", "",    "",    "",        "bf16",   "",    "",
    "",   "",   "",     "",    "",    "f8_e5m2", "f8_e4m3"};

/// Nothing for broken or too deep text.
std::optional<Json> parse_json(std::string_view json) {
  bool is_too_deep = false;
  const auto limit = [&is_too_deep](int depth, Json::parse_event_t, Json&) {
    is_too_deep = is_too_deep || depth > kMaxDepth;
    return !is_too_deep;
  };
  Json value = Json::parse(json, limit, /*allow_exceptions=*/false);
  if (value.is_discarded() || is_too_deep) return std::nullopt;
  return value;
}

std::optional<TorchVersion> parse_torch_version(std::string_view words) {
  std::uint64_t parts[3] = {0, 0, 0};
  const char* at = words.data();
  const char* end = at + words.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc() || parts[i] > 0xffff) return std::nullopt;
    at = next;
    if (at == end) return parts[0] << 32 | parts[1] << 16 | parts[2];
    if (*at++ != '.') return std::nullopt;
  }
  return std::nullopt;
}

/// One JSON object and where it is, so that each complaint has a path.
class Section {
 public:
  Section(const Json& json, std::string path, std::string_view file)
      : json_(json), path_(std::move(path)), file_(file) {
    if (!json_.is_object()) reject("", "an object", json_);
  }

  [[noreturn]] void reject(std::string_view key,
                           std::string_view expected,
                           const Json& got) const {
    throw_code(Code::kBadManifest,
               file_,
               text("manifest key '",
                    path_,
                    key,
                    "': expected ",
                    expected,
                    ", got ",
                    excerpt(got),
                    ". ",
                    code_info(Code::kBadManifest).hint));
  }

  /// Null if absent.
  const Json& get(const char* key) const {
    static const Json kNull;
    const auto found = json_.find(key);
    return found == json_.end() ? kNull : *found;
  }

  std::string name(const char* key, bool is_required) const {
    const Json& value = get(key);
    if (value.is_null() && !is_required) return {};
    if (!value.is_string()) reject(key, "text", value);
    auto out = value.get<std::string>();
    if (out.size() > kMaxName || (is_required && out.empty()))
      reject(key, text("1 to ", kMaxName, " characters"), value);
    return out;
  }

  template <typename Number>
  Number number(const char* key, std::optional<Number> fallback) const {
    const Json& value = get(key);
    if (value.is_null() && fallback) return *fallback;
    if (!value.is_number_integer()) reject(key, "an integer", value);
    const bool fits = value.is_number_unsigned()
                          ? std::in_range<Number>(value.get<std::uint64_t>())
                          : std::in_range<Number>(value.get<std::int64_t>());
    if (!fits) {
      reject(key,
             text("a number from ",
                  std::numeric_limits<Number>::min(),
                  " to ",
                  std::numeric_limits<Number>::max()),
             value);
    }
    return value.get<Number>();
  }

  Section section(const char* key) const {
    return {get(key), text(path_, key, '.'), file_};
  }

  /// Element of a list that is known to be there.
  Section item(const char* key, std::size_t i) const {
    return {get(key)[i], text(path_, key, '[', i, "]."), file_};
  }

 private:
  // Invalid UTF-8 must not throw from an error message.
  static std::string excerpt(const Json& value) {
    return value.dump(-1, ' ', true, Json::error_handler_t::replace)
        .substr(0, 80);
  }

  const Json& json_;
  std::string path_;
  std::string_view file_;
};

TorchVersion read_torch_target(const Section& root) {
  const Json& value = root.get("torch_target");
  if (value.is_null()) return 0;
  if (value.is_number_unsigned()) return value.get<TorchVersion>();
  if (value.is_string()) {
    const auto words = value.get<std::string>();
    if (words.empty()) return 0;
    if (const auto version = parse_torch_version(words)) return *version;
  }
  root.reject("torch_target", "a version as \"2.11.0\"", value);
}

std::int32_t read_device(const Section& target) {
  const Json& value = target.get("device");
  if (value == "cpu") return 0;
  if (value == "cuda") return 1;
  return target.number<std::int32_t>("device", {});
}

/// A list of names, or the mask itself.
std::uint64_t read_bits(const Section& section,
                        const char* key,
                        std::span<const std::string_view> names) {
  const Json& value = section.get(key);
  if (!value.is_array()) return section.number<std::uint64_t>(key, 0);
  std::uint64_t out = 0;
  for (const Json& item : value) {
    const auto found = std::find_if(
        names.begin(), names.end(), [&item](std::string_view name) {
          return !name.empty() && item == name;
        });
    if (found == names.end()) section.reject(key, "known names", item);
    out |= std::uint64_t{1} << (found - names.begin());
  }
  return out;
}

void read_target(const Section& target, KernelMatch& out) {
  out.device = read_device(target);
  out.cpu_features = read_bits(target, "features", cpu_feature_names());
  const Json& archs = target.get("sm");
  if (archs.is_null()) return;
  if (!archs.is_array() || archs.size() != 2 ||
      !archs[0].is_number_unsigned() || !archs[1].is_number_unsigned())
    target.reject("sm", "the least and the greatest, as [90, 90]", archs);
  out.arch_min = archs[0].get<std::uint32_t>();
  out.arch_max = archs[1].get<std::uint32_t>();
}

KernelMatch read_kernel(const Section& component) {
  KernelMatch out;
  out.op = component.name("op", true);
  const Json& targets = component.get("targets");
  if (!targets.is_array() || targets.size() != 1)
    component.reject("targets", "a list of one target", targets);
  read_target(component.item("targets", 0), out);
  out.dtype_mask = read_bits(component, "dtypes", kDtypes);
  out.priority = component.number<std::int32_t>("priority", {});
  out.flags =
      static_cast<std::uint32_t>(read_bits(component, "flags", kKernelFlags));
  return out;
}

std::string read_schema(const Section& component) {
  const Json& schema = component.get("config_schema");
  if (schema.is_null()) return {};
  if (!schema.is_object())
    component.reject("config_schema", "an object", schema);
  return schema.empty()
             ? std::string()
             : schema.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ManifestComponent read_component(const Section& section) {
  ManifestComponent out{.kind = section.name("kind", true),
                        .id = section.name("id", true),
                        .summary = section.name("summary", false),
                        .config_schema = read_schema(section),
                        .kernel = std::nullopt};
  if (out.kind == "titan.kernel/1") out.kernel = read_kernel(section);
  return out;
}

void read_built(const Section& root, Manifest& manifest) {
  if (root.get("built").is_null()) return;
  const Section built = root.section("built");
  manifest.compiler = built.name("compiler", false);
  const Json& abi = built.get("cxx11_abi");
  if (abi.is_boolean()) manifest.cxx11_abi = abi.get<bool>() ? 1 : 0;
  if (!abi.is_boolean() && !abi.is_null())
    manifest.cxx11_abi = built.number<int>("cxx11_abi", {});
}

void read_needs(const Section& root, Manifest& manifest) {
  const Json& needs = root.get("needs");
  if (needs.is_null()) return;
  if (!needs.is_array()) root.reject("needs", "a list", needs);
  for (const Json& need : needs) {
    if (!need.is_string()) root.reject("needs", "library names", need);
    manifest.needs.push_back(need.get<std::string>());
  }
}

void read_components(const Section& root, Manifest& manifest) {
  const Json& list = root.get("components");
  if (!list.is_array() || list.empty() || list.size() > kMaxComponents) {
    root.reject("components",
                text("a list of 1 to ", kMaxComponents, " components"),
                list);
  }
  for (std::size_t i = 0; i < list.size(); ++i)
    manifest.components.push_back(read_component(root.item("components", i)));
}

}  // namespace

std::span<const std::string_view> cpu_feature_names() {
  return kCpuFeatures;
}

std::string torch_version_text(TorchVersion version) {
  if (version == 0) return "none";
  return text(
      version >> 32, '.', (version >> 16) & 0xffff, '.', version & 0xffff);
}

Manifest parse_manifest(std::string_view json, std::string_view file) {
  const std::optional<Json> value = parse_json(json);
  if (!value) {
    throw_code(Code::kBadManifest,
               file,
               text("the note's manifest is broken: expected JSON of at most ",
                    kMaxDepth,
                    " levels, got ",
                    json.size(),
                    " bytes that are none. ",
                    code_info(Code::kBadManifest).hint));
  }
  const Section root(*value, "", file);
  Manifest out;
  out.name = root.name("name", true);
  out.version = root.name("version", true);
  out.vendor = root.name("vendor", false);
  out.licence = root.name("licence", false);
  const Section abi = root.section("abi");
  out.abi_major = abi.number<std::uint32_t>("major", {});
  out.abi_minor_built = abi.number<std::uint32_t>("minor_built", {});
  out.abi_minor_min = abi.number<std::uint32_t>("minor_min", {});
  out.torch_target = read_torch_target(root);
  read_needs(root, out);
  read_built(root, out);
  read_components(root, out);
  return out;
}

std::optional<std::string> canonical_json(std::string_view json) {
  const std::optional<Json> value = parse_json(json);
  if (!value) return std::nullopt;
  return value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace titan::plugin

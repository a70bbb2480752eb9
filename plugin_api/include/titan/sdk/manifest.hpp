// SPDX-License-Identifier: BSD-3-Clause
// What a plugin says of itself, as constants: the components, and the manifest
// JSON built from them at compile time. plugin.hpp puts both into the ELF note
// and the tables, so that they cannot drift.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include <titan/abi.h>
#include <titan/sdk/dataset.hpp>
#include <titan/sdk/kernel.hpp>
#include <titan/sdk/model.hpp>
#include <titan/sdk/optimizer.hpp>
#include <titan/sdk/planner.hpp>
#include <titan/sdk/storage.hpp>
#include <titan/sdk/transform.hpp>

namespace titan {

/// The plugin itself. `needs`: DT_NEEDED libraries beyond libc's family.
struct About {
  std::string_view name;
  std::string_view version;
  std::string_view vendor;
  std::string_view licence;
  uint64_t torch_target = 0;
  std::array<std::string_view, 8> needs = {};
};

namespace detail {

template <typename Class>
consteval std::string_view schema_of() {
  if constexpr (requires { Class::kSchema; })
    return Class::kSchema;
  else
    return {};
}

/// One component as data; `Table` makes its ABI table at run time.
template <typename Table>
struct Component {
  using TableType = Table;
  std::string_view kind;
  std::string_view id;
  std::string_view summary;
  std::string_view schema;
  std::string_view op_id = {};  // kernels only, with match
  KernelMatch match = {};
};

template <typename... Components>
struct Definition {
  About about;
  std::tuple<Components...> components;
};

}  // namespace detail

// Components of a plugin, for TITAN_PLUGIN.
template <typename Class>
constexpr auto model(std::string_view id, std::string_view summary) {
  return detail::Component<detail::ModelTable<Class>>{
      "titan.model/1", id, summary, detail::schema_of<Class>()};
}

template <typename Class>
constexpr auto optimizer(std::string_view id, std::string_view summary) {
  return detail::Component<detail::OptimizerTable<Class>>{
      "titan.optimizer/1", id, summary, detail::schema_of<Class>()};
}

template <typename Class>
constexpr auto planner(std::string_view id, std::string_view summary) {
  return detail::Component<detail::PlannerTable<Class>>{
      "titan.parallel/1", id, summary, detail::schema_of<Class>()};
}

template <typename Class>
constexpr auto storage(std::string_view id, std::string_view summary) {
  return detail::Component<detail::StorageTable<Class>>{
      "titan.storage/1", id, summary, detail::schema_of<Class>()};
}

template <typename Class>
constexpr auto dataset(std::string_view id, std::string_view summary) {
  return detail::Component<detail::DatasetTable<Class>>{
      "titan.dataset/1", id, summary, detail::schema_of<Class>()};
}

template <typename Class>
constexpr auto transform(std::string_view id, std::string_view summary) {
  return detail::Component<detail::TransformTable<Class>>{
      "titan.transform/1", id, summary, detail::schema_of<Class>()};
}

/// The flag TITAN_KERNEL_HAS_BACKWARD follows from the class.
template <typename Class>
constexpr auto kernel(std::string_view id,
                      std::string_view op_id,
                      KernelMatch match,
                      std::string_view summary) {
  if (detail::kHasBackward<Class>) match.flags |= TITAN_KERNEL_HAS_BACKWARD;
  return detail::Component<detail::KernelTable<Class>>{
      "titan.kernel/1", id, summary, detail::schema_of<Class>(), op_id, match};
}

namespace detail {

/// Writes JSON to memory, or only counts when there is none.
class ManifestWriter {
 public:
  constexpr explicit ManifestWriter(char* out) : out_(out) {}
  constexpr std::size_t size() const { return size_; }

  constexpr ManifestWriter& raw(std::string_view text) {
    for (const char c : text) put(c);
    return *this;
  }
  constexpr ManifestWriter& string(std::string_view text) {
    put('"');
    for (const char c : text) {
      if (c == '"' || c == '\\') put('\\');
      put(c);
    }
    put('"');
    return *this;
  }
  constexpr ManifestWriter& member(std::string_view key,
                                   std::string_view value) {
    return raw(",").string(key).raw(":").string(value);
  }
  constexpr ManifestWriter& number(int64_t value) {
    if (value < 0) put('-');
    auto rest = static_cast<uint64_t>(value < 0 ? -value : value);
    char digits[20] = {};
    int count = 0;
    do digits[count++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (count > 0) put(digits[--count]);
    return *this;
  }
  /// The names whose bits are set, as a list.
  template <std::size_t N>
  constexpr ManifestWriter& bits(uint64_t mask,
                                 const std::string_view (&names)[N]) {
    put('[');
    bool is_first = true;
    for (std::size_t i = 0; i < N; ++i) {
      if ((mask >> i & 1) == 0 || names[i].empty()) continue;
      if (!is_first) put(',');
      string(names[i]);
      is_first = false;
    }
    put(']');
    return *this;
  }

 private:
  constexpr void put(char c) {
    if (out_ != nullptr) out_[size_] = c;
    ++size_;
  }
  char* out_;
  std::size_t size_ = 0;
};

// By bit: TITAN_KERNEL_..., TITAN_CPU_..., torch's ScalarType.
inline constexpr std::string_view kKernelFlags[] = {"deterministic",
                                                    "graph_safe",
                                                    "backward",
                                                    "needs_contiguous",
                                                    "batch_invariant"};
inline constexpr std::string_view kCpuFeatures[] = {"avx2",
                                                    "fma",
                                                    "avx512f",
                                                    "avx512bw",
                                                    "avx512vl",
                                                    "avx512dq",
                                                    "avx512_bf16",
                                                    "amx_tile",
                                                    "amx_bf16",
                                                    "amx_int8"};
inline constexpr std::string_view kDtypeNames[] = {
    "u8", "i8", "i16",  "i32", "i64", "f16",     "f32",    "f64", "",
    "",   "",   "bool", "",    "",    "",        "bf16",   "",    "",
    "",   "",   "",     "",    "",    "f8_e5m2", "f8_e4m3"};

constexpr void write_kernel(ManifestWriter& out,
                            std::string_view op_id,
                            const KernelMatch& match) {
  out.member("op", op_id).raw(R"(,"targets":[{"device":)");
  if (match.device_type == TITAN_DEVICE_CUDA)
    out.string("cuda")
        .raw(R"(,"sm":[)")
        .number(match.arch_min)
        .raw(",")
        .number(match.arch_max)
        .raw("]}]");
  else
    out.string("cpu")
        .raw(R"(,"features":)")
        .bits(match.cpu_features, kCpuFeatures)
        .raw("}]");
  out.raw(R"(,"dtypes":)").bits(match.dtypes, kDtypeNames);
  out.raw(R"(,"priority":)").number(match.priority);
  out.raw(R"(,"flags":)").bits(match.flags, kKernelFlags);
}

template <typename Table>
constexpr void write_component(ManifestWriter& out,
                               const Component<Table>& component,
                               bool is_first) {
  out.raw(is_first ? "{" : ",{").string("kind").raw(":").string(component.kind);
  out.member("id", component.id).member("summary", component.summary);
  if (!component.op_id.empty())
    write_kernel(out, component.op_id, component.match);
  out.raw(R"(,"config_schema":)");
  out.raw(component.schema.empty() ? "{}" : component.schema).raw("}");
}

template <typename... Components>
constexpr std::size_t write_manifest(const Definition<Components...>& plugin,
                                     char* memory) {
  ManifestWriter out(memory);
  const About& about = plugin.about;
  out.raw("{").string("name").raw(":").string(about.name);
  out.member("version", about.version).member("vendor", about.vendor);
  out.member("licence", about.licence).raw(R"(,"abi":{"major":)");
  out.number(TITAN_ABI_MAJOR).raw(R"(,"minor_built":)").number(TITAN_ABI_MINOR);
  out.raw(R"(,"minor_min":0},"torch_target":)");
  out.number(static_cast<int64_t>(about.torch_target)).raw(R"(,"needs":[)");
  for (std::size_t i = 0; i < about.needs.size(); ++i) {
    if (about.needs[i].empty()) break;
    out.raw(i == 0 ? "" : ",").string(about.needs[i]);
  }
  out.raw(R"(],"built":{"compiler":)").string(__VERSION__);
  out.raw(R"(,"cxx11_abi":)").number(_GLIBCXX_USE_CXX11_ABI);
  out.raw(R"(},"components":[)");
  std::apply(
      [&](const auto&... each) {
        bool is_first = true;
        ((write_component(out, each, is_first), is_first = false), ...);
      },
      plugin.components);
  out.raw("]}");
  return out.size();
}

}  // namespace detail
}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// TITAN_PLUGIN(about, components...): the one exported symbol and the ELF note,
// both from the same constants.
#pragma once

#include <array>
#include <cstring>
#include <utility>

#include <titan/sdk/manifest.hpp>

namespace titan::detail {

template <typename... Components>
constexpr auto define_plugin(About about, Components... components) {
  return Definition<Components...>{about, {components...}};
}

constexpr std::size_t align4(std::size_t size) {
  return (size + 3) / 4 * 4;
}

// Two ELF notes (type, then 4-aligned name and description), see abi/plugin.h.
template <typename Plugin>
class NoteBuilder {
 public:
  static constexpr std::size_t kManifestSize =
      write_manifest(Plugin::get(), nullptr);
  static constexpr std::size_t kHead = 12 + 8;  // sizes, type, "TITAN"
  static constexpr std::size_t kSize =
      kHead + align4(kManifestSize) + kHead + sizeof(titan_note_header);

  static consteval std::array<char, kSize> build() {
    NoteBuilder note;
    note.head(kManifestSize, TITAN_NOTE_TYPE_MANIFEST);
    write_manifest(Plugin::get(), note.bytes_.data() + note.at_);
    note.at_ += align4(kManifestSize);
    note.head(sizeof(titan_note_header), TITAN_NOTE_TYPE_HEADER);
    note.number(TITAN_NOTE_MAGIC, 4);
    note.number(TITAN_ABI_MAJOR, 4);
    note.number(TITAN_ABI_MINOR, 4);
    note.number(0, 4);
    note.number(Plugin::get().about.torch_target, 8);
    note.number(0, 8);
    return note.bytes_;
  }

 private:
  constexpr void head(std::size_t size, uint64_t type) {
    number(6, 4);
    number(size, 4);
    number(type, 4);
    for (const char c : std::string_view("TITAN\0\0\0", 8)) bytes_[at_++] = c;
  }
  constexpr void number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes_[at_++] = static_cast<char>(value >> 8 * i & 255);
  }
  std::array<char, kSize> bytes_{};
  std::size_t at_ = 0;
};

template <typename Plugin, std::size_t I>
const titan_component* component() {
  constexpr auto kComponent = std::get<I>(Plugin::get().components);
  using Table = typename decltype(kComponent)::TableType;
  static const Table table(kComponent);
  static const titan_component out{sizeof(titan_component),
                                   0,
                                   str(kComponent.kind),
                                   str(kComponent.id),
                                   str(kComponent.summary),
                                   str(kComponent.schema),
                                   table.get()};
  return &out;
}

template <typename Plugin, std::size_t... I>
std::span<const titan_component* const> components(std::index_sequence<I...>) {
  static const titan_component* const list[] = {component<Plugin, I>()...};
  return list;
}

/// The entry point's work: fills what the host has room for.
template <typename Plugin>
int32_t enter(const titan_host_api* api,
              titan_plugin* out,
              titan_error* error) noexcept {
  return guard(error, [&] {
    set_host(api);
    constexpr auto kPlugin = Plugin::get();
    constexpr auto kCount = std::tuple_size_v<decltype(kPlugin.components)>;
    const auto list = components<Plugin>(std::make_index_sequence<kCount>());
    titan_plugin filled{};
    filled.struct_size = out->struct_size < sizeof(filled)
                             ? out->struct_size
                             : uint32_t{sizeof(filled)};
    filled.abi_minor_built = TITAN_ABI_MINOR;
    filled.name = str(kPlugin.about.name);
    filled.version = str(kPlugin.about.version);
    filled.vendor = str(kPlugin.about.vendor);
    filled.components = list.data();
    filled.num_components = list.size();
    std::memcpy(out, &filled, filled.struct_size);
  });
}

}  // namespace titan::detail

/// Defines a plugin, once per library:
///   TITAN_PLUGIN({.name = "acme.norms", .version = "1.0.0", .vendor = "Acme",
///                 .licence = "BSD-3-Clause"},
///                titan::kernel<RmsNorm>("acme.rms_norm", ...))
#define TITAN_PLUGIN(...)                                                  \
  namespace {                                                              \
  struct TitanPluginDefinition {                                           \
    static constexpr auto get() {                                          \
      return ::titan::detail::define_plugin(__VA_ARGS__);                  \
    }                                                                      \
  };                                                                       \
  [[gnu::used,                                                             \
    gnu::section(".note.titan"),                                           \
    gnu::aligned(4)]] constexpr auto kTitanNote =                          \
      ::titan::detail::NoteBuilder<TitanPluginDefinition>::build();        \
  }                                                                        \
  extern "C" [[gnu::visibility("default")]] int32_t titan_plugin_entry_v1( \
      const titan_host_api* api, titan_plugin* out, titan_error* error);   \
  int32_t titan_plugin_entry_v1(                                           \
      const titan_host_api* api, titan_plugin* out, titan_error* error) {  \
    return ::titan::detail::enter<TitanPluginDefinition>(api, out, error); \
  }

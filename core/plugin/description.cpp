// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/description.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string_view>

#include <titan/abi/dataset.h>
#include <titan/abi/storage.h>
#include <titan/abi/transform.h>
#include <titan/error.h>

#include "core/plugin/error_code.h"
#include "core/plugin/manifest.h"

namespace titan::plugin {
namespace {

// Sizes of the structs as version 1.0 had them: the least a plugin may give.
// Never today's sizeof, or a plugin of yesterday would be refused.
constexpr std::uint32_t kPluginSize = 88;
constexpr std::uint32_t kComponentSize = 80;
constexpr std::uint32_t kMatchSize = 56;
constexpr std::uint32_t kKernelSize = 56;
constexpr std::uint32_t kModelSize = 96;
constexpr std::uint32_t kOptimizerSize = 40;
constexpr std::uint32_t kParallelSize = 48;
constexpr std::uint32_t kStorageSize = 88;
constexpr std::uint32_t kDatasetSize = 88;
constexpr std::uint32_t kTransformSize = 64;
static_assert(sizeof(titan_plugin) >= kPluginSize);
static_assert(sizeof(titan_component) >= kComponentSize);
static_assert(sizeof(titan_kernel_match) >= kMatchSize);
static_assert(sizeof(titan_kernel_table) >= kKernelSize);
static_assert(sizeof(titan_model_table) >= kModelSize);
static_assert(sizeof(titan_optimizer_table) >= kOptimizerSize);
static_assert(sizeof(titan_parallel_table) >= kParallelSize);
static_assert(sizeof(titan_storage_table) >= kStorageSize);
static_assert(sizeof(titan_dataset_table) >= kDatasetSize);
static_assert(sizeof(titan_transform_table) >= kTransformSize);

constexpr std::uint64_t kMaxText = 1u << 20;
constexpr std::uint32_t kMaxStruct = 1u << 16;

class Copier {
 public:
  explicit Copier(const std::string& file) : file_(file) {}

  [[noreturn]] void reject(std::string_view what) const {
    throw_code(Code::kBadTable,
               file_,
               text("the plugin's table is broken: ",
                    what,
                    ". ",
                    code_info(Code::kBadTable).hint));
  }

  std::string words(titan_str value, std::string_view field) const {
    if (value.size > kMaxText || (value.size > 0 && value.data == nullptr))
      reject(text(field,
                  ": expected text of at most ",
                  kMaxText,
                  " bytes, got ",
                  value.size,
                  value.data == nullptr ? " bytes at null" : " bytes"));
    return {value.data, static_cast<std::size_t>(value.size)};
  }

  /// `source` starts with its own struct_size.
  template <typename Table>
  Table copy(const void* source,
             std::uint32_t least,
             std::string_view field) const {
    if (source == nullptr) reject(text(field, ": expected a table, got null"));
    std::uint32_t size;
    std::memcpy(&size, source, sizeof size);
    if (size < least || size > kMaxStruct)
      reject(text(field,
                  ": expected struct_size from ",
                  least,
                  " to ",
                  kMaxStruct,
                  ", got ",
                  size));
    Table out{};
    size = std::min<std::uint32_t>(size, sizeof(Table));
    std::memcpy(&out, source, size);
    out.struct_size = size;
    return out;
  }

  void require(bool is_there,
               std::string_view id,
               std::string_view function) const {
    if (!is_there)
      reject(text(id, ": expected the function ", function, ", got null"));
  }

 private:
  const std::string& file_;
};

/// Calls with exceptions contained; throws UserError ENTRY_FAILED.
void call_entry(titan_plugin_entry_fn entry,
                const titan_host_api& host,
                titan_plugin& out,
                const std::string& file) {
  const auto fail = [&file](std::string_view got) {
    throw_code(Code::kEntryFailed,
               file,
               text("the plugin's entry gave up: expected 0, got ",
                    got,
                    ". ",
                    code_info(Code::kEntryFailed).hint));
  };
  titan_error error{};
  error.struct_size = sizeof error;
  std::int32_t result = 0;
  // The plugin boundary: whatever is thrown must end here.
  try {
    result = entry(&host, &out, &error);
  } catch (const std::exception& exception) {
    fail(text("the exception '", exception.what(), '\''));
  } catch (...) {
    fail("an exception that is no std::exception");
  }
  if (result == 0) return;
  error.message[sizeof error.message - 1] = '\0';
  fail(text(result, " with '", std::string_view(error.message), '\''));
}

template <typename Table>
std::shared_ptr<const void> keep(const Table& table) {
  return std::make_shared<const Table>(table);
}

/// The match moves with its table: both are the host's copies.
struct KernelTables {
  titan_kernel_table table;
  titan_kernel_match match;
};

std::shared_ptr<const void> copy_kernel(const Copier& copier,
                                        const void* source,
                                        ManifestComponent& about) {
  auto both = std::make_shared<KernelTables>();
  both->table = copier.copy<titan_kernel_table>(source, kKernelSize, about.id);
  both->match = copier.copy<titan_kernel_match>(
      both->table.match, kMatchSize, text(about.id, ".match"));
  both->table.match = &both->match;
  copier.require(both->table.create, about.id, "create");
  copier.require(both->table.destroy, about.id, "destroy");
  copier.require(both->table.forward, about.id, "forward");
  const titan_kernel_match& match = both->match;
  about.kernel = KernelMatch{
      .op = copier.words(match.op_id, text(about.id, ".match.op_id")),
      .device = match.device_type,
      .arch_min = match.arch_min,
      .arch_max = match.arch_max,
      .cpu_features = match.cpu_features,
      .dtype_mask = match.dtype_mask,
      .priority = match.priority,
      .flags = match.flags};
  return {both, &both->table};
}

std::shared_ptr<const void> copy_model(const Copier& copier,
                                       const void* source,
                                       const std::string& id) {
  const auto table = copier.copy<titan_model_table>(source, kModelSize, id);
  copier.require(table.create, id, "create");
  copier.require(table.destroy, id, "destroy");
  copier.require(table.build, id, "build");
  return keep(table);
}

std::shared_ptr<const void> copy_optimizer(const Copier& copier,
                                           const void* source,
                                           const std::string& id) {
  const auto table =
      copier.copy<titan_optimizer_table>(source, kOptimizerSize, id);
  copier.require(table.create, id, "create");
  copier.require(table.destroy, id, "destroy");
  copier.require(table.describe_state, id, "describe_state");
  copier.require(table.step, id, "step");
  return keep(table);
}

std::shared_ptr<const void> copy_parallel(const Copier& copier,
                                          const void* source,
                                          const std::string& id) {
  const auto table =
      copier.copy<titan_parallel_table>(source, kParallelSize, id);
  copier.require(table.create, id, "create");
  copier.require(table.destroy, id, "destroy");
  copier.require(table.plan, id, "plan");
  return keep(table);
}

std::shared_ptr<const void> copy_storage(const Copier& copier,
                                         const void* source,
                                         const std::string& id) {
  const auto table = copier.copy<titan_storage_table>(source, kStorageSize, id);
  copier.require(table.create, id, "create");
  copier.require(table.destroy, id, "destroy");
  copier.require(table.open_writer, id, "open_writer");
  copier.require(table.append, id, "append");
  copier.require(table.finish, id, "finish");
  copier.require(table.close_writer, id, "close_writer");
  copier.require(table.size, id, "size");
  copier.require(table.read, id, "read");
  copier.require(table.list, id, "list");
  copier.require(table.remove, id, "remove");
  return keep(table);
}

std::shared_ptr<const void> copy_dataset(const Copier& copier,
                                         const void* source,
                                         const std::string& id) {
  const auto table = copier.copy<titan_dataset_table>(source, kDatasetSize, id);
  copier.words(table.endings, text(id, ".endings"));
  copier.require(table.create, id, "create");
  copier.require(table.destroy, id, "destroy");
  copier.require(table.get_facts, id, "get_facts");
  copier.require(table.open_shard, id, "open_shard");
  copier.require(table.close_shard, id, "close_shard");
  copier.require(table.next, id, "next");
  copier.require(table.describe, id, "describe");
  return keep(table);
}

std::shared_ptr<const void> copy_transform(const Copier& copier,
                                           const void* source,
                                           const std::string& id) {
  const auto table =
      copier.copy<titan_transform_table>(source, kTransformSize, id);
  copier.require(table.create, id, "create");
  copier.require(table.destroy, id, "destroy");
  copier.require(table.apply, id, "apply");
  return keep(table);
}

DescribedComponent copy_component(const Copier& copier,
                                  const titan_component* source) {
  const auto component =
      copier.copy<titan_component>(source, kComponentSize, "component");
  DescribedComponent out;
  ManifestComponent& about = out.about;
  about.kind = copier.words(component.kind, "component.kind");
  about.id = copier.words(component.id, "component.id");
  about.summary = copier.words(component.summary, "component.summary");
  about.config_schema =
      copier.words(component.config_schema, "component.config_schema");
  out.is_known_kind = true;
  if (about.kind == "titan.kernel/1")
    out.table = copy_kernel(copier, component.table, about);
  else if (about.kind == "titan.model/1")
    out.table = copy_model(copier, component.table, about.id);
  else if (about.kind == "titan.optimizer/1")
    out.table = copy_optimizer(copier, component.table, about.id);
  else if (about.kind == "titan.parallel/1")
    out.table = copy_parallel(copier, component.table, about.id);
  else if (about.kind == "titan.storage/1")
    out.table = copy_storage(copier, component.table, about.id);
  else if (about.kind == "titan.dataset/1")
    out.table = copy_dataset(copier, component.table, about.id);
  else if (about.kind == "titan.transform/1")
    out.table = copy_transform(copier, component.table, about.id);
  else
    out.is_known_kind = false;
  return out;
}

class Comparison {
 public:
  explicit Comparison(const std::string& file) : file_(file) {}

  template <typename Value>
  void require_equal(std::string_view field,
                     const Value& note,
                     const Value& table) const {
    if (note == table) return;
    reject(field, text('\'', note, '\''), text('\'', table, '\''));
  }

  [[noreturn]] void reject(std::string_view field,
                           std::string_view note,
                           std::string_view table) const {
    throw_code(Code::kDescMismatch,
               file_,
               text("the plugin is not what its note says, ",
                    field,
                    ": expected ",
                    note,
                    " (note), got ",
                    table,
                    " (table). ",
                    code_info(Code::kDescMismatch).hint));
  }

 private:
  const std::string& file_;
};

/// No options may be written as nothing, {} or null.
std::string schema_or_empty(const std::string& words) {
  if (words.empty()) return {};
  std::string out = canonical_json(words).value_or(words);
  return out == "{}" || out == "null" ? std::string() : out;
}

void compare_component(const Comparison& comparison,
                       const ManifestComponent& note,
                       const ManifestComponent& table) {
  comparison.require_equal("component kind", note.kind, table.kind);
  comparison.require_equal("component id", note.id, table.id);
  comparison.require_equal(note.id + " summary", note.summary, table.summary);
  comparison.require_equal(note.id + " config_schema",
                           schema_or_empty(note.config_schema),
                           schema_or_empty(table.config_schema));
  if (note.kernel && table.kernel && !(*note.kernel == *table.kernel))
    comparison.reject(
        note.id + " match",
        text(note.kernel->op, ", priority ", note.kernel->priority),
        text(table.kernel->op,
             ", priority ",
             table.kernel->priority,
             " or another field of titan_kernel_match"));
}

}  // namespace

Description describe_plugin(titan_plugin_entry_fn entry,
                            const titan_host_api& host,
                            const std::string& file) {
  titan_plugin raw{};
  raw.struct_size = sizeof raw;
  call_entry(entry, host, raw, file);
  const Copier copier(file);
  const auto plugin = copier.copy<titan_plugin>(&raw, kPluginSize, "plugin");
  if (plugin.components == nullptr || plugin.num_components == 0 ||
      plugin.num_components > kMaxComponents)
    copier.reject(text("components: expected 1 to ",
                       kMaxComponents,
                       ", got ",
                       plugin.num_components,
                       plugin.components == nullptr ? " at null" : ""));
  Description out;
  out.name = copier.words(plugin.name, "name");
  out.version = copier.words(plugin.version, "version");
  out.vendor = copier.words(plugin.vendor, "vendor");
  out.abi_minor_built = plugin.abi_minor_built;
  out.abi_minor_min = plugin.abi_minor_min;
  out.get_interface = plugin.get_interface;
  for (std::uint64_t i = 0; i < plugin.num_components; ++i)
    out.components.push_back(copy_component(copier, plugin.components[i]));
  return out;
}

void require_same(const Description& table,
                  const Manifest& note,
                  const std::string& file) {
  const Comparison comparison(file);
  comparison.require_equal("name", note.name, table.name);
  comparison.require_equal("version", note.version, table.version);
  comparison.require_equal("vendor", note.vendor, table.vendor);
  comparison.require_equal(
      "abi minor built", note.abi_minor_built, table.abi_minor_built);
  comparison.require_equal(
      "abi minor needed", note.abi_minor_min, table.abi_minor_min);
  comparison.require_equal(
      "number of components", note.components.size(), table.components.size());
  for (std::size_t i = 0; i < note.components.size(); ++i)
    compare_component(
        comparison, note.components[i], table.components[i].about);
}

}  // namespace titan::plugin

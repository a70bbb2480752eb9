// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/plugin_file_system.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include <sys/mman.h>  // mmap

#include <titan/error.h>

#include "core/plugin/abi_call.h"

namespace titan::plugin {
namespace {

namespace fs = std::filesystem;

// "/runs//a/./b/" and "runs/a/b" are one key.
std::string key_of(const fs::path& path) {
  std::string key;
  for (const fs::path& part : path.lexically_normal()) {
    const std::string name = part.string();
    TITAN_USER_CHECK(name != "..",
                     "[checkpoint ",
                     path.string(),
                     "] key: expected a path without \"..\", got it");
    if (name.empty() || name == "/" || name == ".") continue;
    key += (key.empty() ? "" : "/") + name;
  }
  return key;
}

// One object being written.
class PluginWritableFile final : public checkpoint::WritableFile {
 public:
  PluginWritableFile(const titan_storage_table& table,
                     titan_object* writer,
                     std::string where)
      : table_(table), writer_(writer), where_(std::move(where)) {}
  ~PluginWritableFile() override { table_.close_writer(writer_); }
  PluginWritableFile(const PluginWritableFile&) = delete;
  PluginWritableFile& operator=(const PluginWritableFile&) = delete;

  void append(std::span<const std::byte> bytes) override {
    titan_error error = make_error();
    check_call(table_.append(writer_, bytes.data(), bytes.size(), &error),
               error,
               where_);
  }
  void sync() override {
    // An object is durable when it is finished, and not before.
  }
  void close() override {
    titan_error error = make_error();
    check_call(table_.finish(writer_, &error), error, where_);
  }

 private:
  const titan_storage_table& table_;
  titan_object* writer_;
  std::string where_;
};

// One object being read: address space for all of it, of which ranges are
// fetched when they are asked for. Pages that nobody asks for cost nothing.
class PluginReadableFile final : public checkpoint::ReadableFile {
 public:
  PluginReadableFile(const titan_storage_table& table,
                     titan_object* storage,
                     std::string key,
                     std::size_t size_bytes,
                     std::string where)
      : table_(table),
        storage_(storage),
        key_(std::move(key)),
        where_(std::move(where)) {
    if (size_bytes == 0) return;
    void* const address = ::mmap(nullptr,
                                 size_bytes,
                                 PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                 -1,
                                 0);
    if (address == MAP_FAILED)
      throw DeviceError(text('[',
                             where_,
                             "] memory: expected room for ",
                             size_bytes,
                             " bytes, got error ",
                             errno));
    memory_ = {static_cast<std::byte*>(address), size_bytes};
  }
  ~PluginReadableFile() override {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  }
  PluginReadableFile(const PluginReadableFile&) = delete;
  PluginReadableFile& operator=(const PluginReadableFile&) = delete;

  std::span<const std::byte> bytes() const override { return memory_; }

  void load(std::size_t begin, std::size_t size) const override {
    const std::size_t end = begin + size;
    const std::lock_guard lock(mutex_);
    // Fetches what lies between ranges that are there.
    auto next = loaded_.upper_bound(begin);
    if (next != loaded_.begin())
      begin = std::max(begin, std::prev(next)->second);
    while (begin < end) {
      const std::size_t stop =
          next == loaded_.end() ? end : std::min(end, next->first);
      if (begin < stop) fetch(begin, stop);
      if (next == loaded_.end()) return;
      begin = std::max(stop, next->second);
      ++next;
    }
  }

 private:
  void fetch(std::size_t begin, std::size_t end) const {
    titan_error error = make_error();
    check_call(table_.read(storage_,
                           abi_str(key_),
                           begin,
                           memory_.data() + begin,
                           end - begin,
                           &error),
               error,
               where_);
    loaded_[begin] = end;
  }

  const titan_storage_table& table_;
  titan_object* storage_;
  std::string key_;
  std::string where_;
  std::span<std::byte> memory_;
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, std::size_t> loaded_;  // begin to end, disjoint
};

}  // namespace

PluginFileSystem::PluginFileSystem(const Component& component,
                                   config::Value config)
    : table_(component.as<titan_storage_table>()),
      keepalive_(component.owner),
      id_(component.id),
      config_(std::move(config), "checkpoint.storage.config") {
  titan_error error = make_error();
  check_call(
      table_.create(&component.owner->host, config_.as_abi(), &object_, &error),
      error,
      id_);
}

PluginFileSystem::~PluginFileSystem() {
  if (object_ != nullptr) table_.destroy(object_);
}

std::unique_ptr<checkpoint::WritableFile> PluginFileSystem::create(
    const fs::path& path) {
  const std::string key = key_of(path);
  titan_object* writer = nullptr;
  titan_error error = make_error();
  check_call(
      table_.open_writer(object_, abi_str(key), &writer, &error), error, id_);
  return std::make_unique<PluginWritableFile>(
      table_, writer, text(id_, ' ', key));
}

std::unique_ptr<checkpoint::ReadableFile> PluginFileSystem::open(
    const fs::path& path) const {
  const std::optional<std::uint64_t> size_bytes = size(path);
  TITAN_USER_CHECK(size_bytes.has_value(),
                   "[checkpoint ",
                   path.string(),
                   "] open: expected an object of ",
                   id_,
                   ", got none");
  const std::string key = key_of(path);
  return std::make_unique<PluginReadableFile>(
      table_,
      object_,
      key,
      static_cast<std::size_t>(*size_bytes),
      text(id_, ' ', key));
}

std::optional<std::uint64_t> PluginFileSystem::size(
    const fs::path& path) const {
  const std::string key = key_of(path);
  std::int64_t size_bytes = -1;
  titan_error error = make_error();
  check_call(
      table_.size(object_, abi_str(key), &size_bytes, &error), error, id_);
  if (size_bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(size_bytes);
}

void PluginFileSystem::remove(const fs::path& path) {
  const std::string key = key_of(path);
  titan_error error = make_error();
  check_call(table_.remove(object_, abi_str(key), &error), error, id_);
}

std::vector<checkpoint::FolderEntry> PluginFileSystem::list(
    const fs::path& path) const {
  std::vector<checkpoint::FolderEntry> entries;
  const auto add = [](void* self, titan_str name, std::int32_t has_children) {
    static_cast<std::vector<checkpoint::FolderEntry>*>(self)->push_back(
        {std::string(view(name)), has_children != 0});
  };
  const titan_storage_sink sink = {sizeof(sink), 0, &entries, add};
  const std::string key = key_of(path);
  titan_error error = make_error();
  check_call(table_.list(object_, abi_str(key), &sink, &error), error, id_);
  std::ranges::sort(entries, {}, &checkpoint::FolderEntry::name);
  return entries;
}

bool PluginFileSystem::exists(const fs::path& path) const {
  return size(path).has_value() || !list(path).empty();
}

void PluginFileSystem::make_folder(const fs::path&) {
  // Folders are there when something is in them.
}

void PluginFileSystem::sync_folder(const fs::path&) {
  // Names appear together with their objects.
}

void PluginFileSystem::rename(const fs::path& from, const fs::path&) {
  throw BugError(text("[",
                      id_,
                      "] rename of ",
                      from.string(),
                      ": expected nobody to ask an object store, got it"));
}

}  // namespace titan::plugin

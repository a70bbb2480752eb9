// SPDX-License-Identifier: BSD-3-Clause
// Storages, kind titan.storage/1, from a class to its C table. It has
//   class Writer: void append(std::span<const std::byte>); void finish();
//   std::unique_ptr<Writer> open_writer(std::string_view key)
//   std::optional<int64_t> size(std::string_view key)
//   void read(std::string_view key, uint64_t offset, std::span<std::byte> out)
//   void list(std::string_view key, const NameSink& add)
//   void remove(std::string_view key)
// Any thread calls; what each must do is in abi/storage.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <titan/abi/storage.h>
#include <titan/sdk/object.hpp>

namespace titan {

/// Takes the names below a key: add("step_00000100", true).
class NameSink {
 public:
  explicit NameSink(const titan_storage_sink& sink) : sink_(sink) {}
  void operator()(std::string_view name, bool has_children) const {
    sink_.add(sink_.self, detail::str(name), has_children ? 1 : 0);
  }

 private:
  const titan_storage_sink& sink_;
};

namespace detail {

template <typename Storage>
struct StorageFunctions {
  using Writer = typename Storage::Writer;

  static int32_t open_writer(titan_object* self,
                             titan_str key,
                             titan_object** writer,
                             titan_error* error) noexcept {
    return guard(error, [&] {
      std::unique_ptr<Writer> made =
          object<Storage>(self).open_writer(view(key));
      *writer = reinterpret_cast<titan_object*>(made.release());
    });
  }
  static int32_t append(titan_object* writer,
                        const void* bytes,
                        uint64_t size,
                        titan_error* error) noexcept {
    return guard(error, [&] {
      object<Writer>(writer).append(
          std::span(static_cast<const std::byte*>(bytes), size));
    });
  }
  static int32_t finish(titan_object* writer, titan_error* error) noexcept {
    return guard(error, [&] { object<Writer>(writer).finish(); });
  }
  static int32_t size(titan_object* self,
                      titan_str key,
                      int64_t* out,
                      titan_error* error) noexcept {
    return guard(error, [&] {
      *out = object<Storage>(self).size(view(key)).value_or(-1);
    });
  }
  static int32_t read(titan_object* self,
                      titan_str key,
                      uint64_t offset,
                      void* out,
                      uint64_t size,
                      titan_error* error) noexcept {
    return guard(error, [&] {
      object<Storage>(self).read(
          view(key), offset, std::span(static_cast<std::byte*>(out), size));
    });
  }
  static int32_t list(titan_object* self,
                      titan_str key,
                      const titan_storage_sink* sink,
                      titan_error* error) noexcept {
    return guard(
        error, [&] { object<Storage>(self).list(view(key), NameSink(*sink)); });
  }
  static int32_t remove(titan_object* self,
                        titan_str key,
                        titan_error* error) noexcept {
    return guard(error, [&] { object<Storage>(self).remove(view(key)); });
  }
};

template <typename Storage>
class StorageTable {
 public:
  template <typename Description>
  explicit StorageTable(const Description&) {
    using Functions = StorageFunctions<Storage>;
    table_.struct_size = sizeof(table_);
    table_.create = create_object<Storage>;
    table_.destroy = destroy_object<Storage>;
    table_.open_writer = Functions::open_writer;
    table_.append = Functions::append;
    table_.finish = Functions::finish;
    table_.close_writer = destroy_object<typename Storage::Writer>;
    table_.size = Functions::size;
    table_.read = Functions::read;
    table_.list = Functions::list;
    table_.remove = Functions::remove;
  }
  const void* get() const { return &table_; }

 private:
  titan_storage_table table_{};
};

}  // namespace detail
}  // namespace titan

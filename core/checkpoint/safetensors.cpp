// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/safetensors.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/strict_json.h"

namespace titan::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
// Header object, tensor object, shape array.
constexpr int kHeaderDepth = 3;

std::uint64_t read_little_endian_u64(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t index = kLengthBytes; index-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[index]);
  return value;
}

// Parses one file; holds what every message needs.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes), where_(titan::text("checkpoint ", file)) {}

  SafetensorsContent read() {
    const std::string_view header = header_text();
    data_ = bytes_.subspan(kLengthBytes + header.size());
    require_strict_json(where_, header, kHeaderDepth);
    const Json json = Json::parse(header);
    SafetensorsContent content;
    content.tensors.reserve(json.size());
    for (const auto& [name, value] : json.items()) {
      if (name == "__metadata__")
        content.metadata = metadata(value);
      else
        content.tensors.push_back(tensor(name, value));
    }
    require_gapless(content.tensors);
    return content;
  }

 private:
  template <typename... Parts>
  void check(bool condition, const Parts&... parts) const {
    TITAN_USER_CHECK(condition, '[', where_, "] ", titan::text(parts...));
  }

  std::string_view header_text() const {
    check(bytes_.size() >= kLengthBytes,
          "file is truncated: expected at least 8 bytes, got ",
          bytes_.size());
    const std::uint64_t length = read_little_endian_u64(bytes_);
    const std::uint64_t rest = bytes_.size() - kLengthBytes;
    check(length <= kMaxHeaderBytes,
          "header length: expected at most ",
          kMaxHeaderBytes,
          " bytes, got ",
          length);
    check(length <= rest,
          "header is truncated: expected ",
          length,
          " bytes, got ",
          rest);
    const std::string_view header(
        reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes, length);
    check(header.starts_with('{'),
          "header: expected '{' as its first byte, got ",
          header.empty() ? "no byte" : "another");
    return header;
  }

  std::map<std::string, std::string> metadata(const Json& value) const {
    check(value.is_object(),
          "__metadata__: expected an object of strings, got ",
          value.type_name());
    std::map<std::string, std::string> entries;
    for (const auto& [key, text] : value.items()) {
      check(text.is_string(),
            "__metadata__ entry \"",
            key,
            "\": expected a string, got ",
            text.type_name());
      entries[key] = text.get<std::string>();
    }
    return entries;
  }

  TensorView tensor(const std::string& name, const Json& value) const {
    check(value.is_object(),
          "tensor \"",
          name,
          "\": expected an object, got ",
          value.type_name());
    for (const auto& [key, unused] : value.items())
      check(key == "dtype" || key == "shape" || key == "data_offsets",
            "tensor \"",
            name,
            "\" key: expected dtype, shape or data_offsets, got \"",
            key,
            '"');
    TensorView view;
    view.name = name;
    view.dtype = dtype(name, value);
    view.shape = shape(name, value);
    view.bytes = tensor_bytes(view, value);
    return view;
  }

  Dtype dtype(const std::string& name, const Json& value) const {
    const auto it = value.find("dtype");
    check(it != value.end() && it->is_string(),
          "tensor \"",
          name,
          "\" dtype: expected a string, got ",
          it == value.end() ? "nothing" : it->type_name());
    const auto text = it->get<std::string>();
    const std::optional<Dtype> found = dtype_from_name(text);
    check(found.has_value(),
          "tensor \"",
          name,
          "\" dtype: expected one of the types in docs/checkpoint_format.md, "
          "got \"",
          text,
          '"');
    return *found;
  }

  std::vector<std::uint64_t> numbers(const std::string& name,
                                     const Json& value,
                                     const char* key) const {
    const auto it = value.find(key);
    check(it != value.end() && it->is_array(),
          "tensor \"",
          name,
          "\" ",
          key,
          ": expected an array, got ",
          it == value.end() ? "nothing" : it->type_name());
    std::vector<std::uint64_t> found;
    for (const Json& item : *it) {
      check(item.is_number_unsigned(),
            "tensor \"",
            name,
            "\" ",
            key,
            ": expected non-negative integers, got ",
            item.is_number() ? item.dump() : item.type_name());
      found.push_back(item.get<std::uint64_t>());
    }
    return found;
  }

  std::vector<std::int64_t> shape(const std::string& name,
                                  const Json& value) const {
    std::vector<std::int64_t> dims;
    for (const std::uint64_t dim : numbers(name, value, "shape")) {
      check(std::in_range<std::int64_t>(dim),
            "tensor \"",
            name,
            "\" dimension: expected at most 2^63 - 1, got ",
            dim);
      dims.push_back(static_cast<std::int64_t>(dim));
    }
    return dims;
  }

  std::span<const std::byte> tensor_bytes(const TensorView& view,
                                          const Json& value) const {
    const std::vector<std::uint64_t> offsets =
        numbers(view.name, value, "data_offsets");
    check(offsets.size() == 2 && offsets[0] <= offsets[1] &&
              offsets[1] <= data_.size(),
          "tensor \"",
          view.name,
          "\" data_offsets: expected (begin, end) within ",
          data_.size(),
          " bytes of data, got ",
          offsets);
    const std::uint64_t size = offsets[1] - offsets[0];
    const std::optional<std::int64_t> needed =
        tensor_size_bytes(view.dtype, view.shape);
    check(needed.has_value(),
          "tensor \"",
          view.name,
          "\" shape: expected a size below 2^63 bytes, got shape ",
          view.shape);
    check(static_cast<std::uint64_t>(*needed) == size,
          "tensor \"",
          view.name,
          "\" size: expected ",
          *needed,
          " bytes for ",
          dtype_name(view.dtype),
          ' ',
          view.shape,
          ", got ",
          size);
    return data_.subspan(offsets[0], size);
  }

  // No two tensors share bytes and no byte is nobody's: what hides in a hole
  // would survive every copy of the file.
  void require_gapless(std::vector<TensorView>& tensors) const {
    std::ranges::sort(tensors, {}, [](const TensorView& view) {
      return std::pair(view.bytes.data(), view.bytes.size());
    });
    std::uint64_t end = 0;
    for (const TensorView& view : tensors) {
      const auto begin =
          static_cast<std::uint64_t>(view.bytes.data() - data_.data());
      check(begin == end,
            "tensor \"",
            view.name,
            "\" begins ",
            begin < end ? "inside another tensor" : "after a hole",
            ": expected offset ",
            end,
            ", got ",
            begin);
      end += view.bytes.size();
    }
    check(end == data_.size(),
          "file size: expected ",
          bytes_.size() - data_.size() + end,
          " bytes, got ",
          bytes_.size());
  }

  std::span<const std::byte> bytes_;
  std::string where_;
  std::span<const std::byte> data_;
};

// As much as parse_safetensors looks at; a length that lies is its to refuse.
void load_header(const ReadableFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < kLengthBytes) return file.load(0, bytes.size());
  file.load(0, kLengthBytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  file.load(kLengthBytes,
            static_cast<std::size_t>(std::min<std::uint64_t>(
                {length, kMaxHeaderBytes, bytes.size() - kLengthBytes})));
}

}  // namespace

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes,
                                     std::string_view file) {
  return HeaderReader(bytes, file).read();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : SafetensorsFile(real_file_system(), path) {}

SafetensorsFile::SafetensorsFile(const FileSystem& files,
                                 const std::filesystem::path& path)
    : path_(path), file_(files.open(path)) {
  load_header(*file_);
  content_ = parse_safetensors(file_->bytes(), path.string());
  index_.reserve(content_.tensors.size());
  for (std::size_t i = 0; i < content_.tensors.size(); ++i)
    index_[content_.tensors[i].name] = i;
}

void SafetensorsFile::load(std::span<const std::byte> part) const {
  if (part.empty()) return;
  file_->load(static_cast<std::size_t>(part.data() - file_->bytes().data()),
              part.size());
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  auto it = index_.find(name);
  if (it == index_.end()) {
    const auto alias = content_.metadata.find(std::string(name));
    if (alias == content_.metadata.end()) return nullptr;
    it = index_.find(alias->second);
  }
  return it == index_.end() ? nullptr : &content_.tensors[it->second];
}

const TensorView& SafetensorsFile::get(std::string_view name) const {
  const TensorView* const view = find(name);
  TITAN_USER_CHECK(view != nullptr,
                   "[checkpoint ",
                   path_.string(),
                   "] tensor is absent: expected \"",
                   name,
                   "\", got ",
                   tensors().size(),
                   " others");
  return *view;
}

}  // namespace titan::checkpoint

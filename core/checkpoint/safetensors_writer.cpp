// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/safetensors.h"

namespace titan::checkpoint {
namespace {

// Ordered, so that the header lists tensors as they lie in the file.
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kAlignment = 8;

// A thread costs 20 us, a checksum of this much 200.
constexpr std::size_t kParallelBytes = std::size_t{2} << 20;

void require_distinct_names(const std::string& where,
                            const std::vector<TensorSpec>& specs) {
  std::set<std::string_view> names;
  for (const TensorSpec& spec : specs) {
    TITAN_USER_CHECK(spec.name != "__metadata__",
                     where,
                     "tensor name: expected any but __metadata__, got it");
    TITAN_USER_CHECK(names.insert(spec.name).second,
                     where,
                     "tensor names: expected each once, got \"",
                     spec.name,
                     "\" twice");
  }
}

std::string header_text(const std::vector<TensorSpec>& specs,
                        const Metadata& metadata) {
  std::string text = "{";
  const auto add = [&text](const std::string& name, const OrderedJson& value) {
    if (text.size() > 1) text += ',';
    text += OrderedJson(name).dump() + ':' + value.dump();
  };
  if (!metadata.empty()) add("__metadata__", OrderedJson(metadata));
  std::int64_t begin = 0;
  for (const TensorSpec& spec : specs) {
    const std::int64_t end = begin + spec_size_bytes(spec);
    add(spec.name,
        OrderedJson{{"dtype", dtype_name(spec.dtype)},
                    {"shape", spec.shape},
                    {"data_offsets", {begin, end}}});
    begin = end;
  }
  text += '}';
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

std::int64_t spec_size_bytes(const TensorSpec& spec) {
  const auto size_bytes = tensor_size_bytes(spec.dtype, spec.shape);
  TITAN_CHECK(size_bytes.has_value(),
              "[checkpoint] shape of \"",
              spec.name,
              "\": expected a size below 2^63 bytes, got shape ",
              spec.shape);
  return *size_bytes;
}

ByteSource borrow_bytes(std::span<const std::byte> bytes) {
  return [bytes](const ByteSink& sink) { sink(bytes); };
}

SafetensorsWriter::SafetensorsWriter(FileSystem& files,
                                     const std::filesystem::path& path,
                                     std::vector<TensorSpec> specs,
                                     const Metadata& metadata)
    : where_(text("[checkpoint ", path.string(), "] ")),
      specs_(std::move(specs)) {
  require_distinct_names(where_, specs_);
  std::ranges::stable_sort(specs_, std::greater(), [](const TensorSpec& spec) {
    return dtype_size_bytes(spec.dtype);
  });
  const std::string header = header_text(specs_, metadata);
  TITAN_USER_CHECK(header.size() <= kMaxHeaderBytes,
                   where_,
                   "header length: expected at most ",
                   kMaxHeaderBytes,
                   " bytes, got ",
                   header.size(),
                   ". Write more shards.");
  std::array<std::byte, 8> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  file_ = files.create(path);
  put(length);
  put(std::as_bytes(std::span(header)));
  skip_full_tensors();
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  TITAN_CHECK(current_ < specs_.size(),
              where_,
              "bytes after the last tensor: expected none, got ",
              bytes.size());
  const std::int64_t missing = needed_bytes() - current_bytes_;
  TITAN_CHECK(std::cmp_less_equal(bytes.size(), missing),
              where_,
              "bytes of \"",
              specs_[current_].name,
              "\": expected at most ",
              missing,
              " more, got ",
              bytes.size());
  put(bytes);
  current_bytes_ += static_cast<std::int64_t>(bytes.size());
  skip_full_tensors();
}

WrittenFile SafetensorsWriter::finish() {
  TITAN_CHECK(current_ == specs_.size(),
              where_,
              "bytes of \"",
              specs_[current_].name,
              "\": expected ",
              needed_bytes(),
              ", got ",
              current_bytes_);
  file_->sync();
  file_->close();
  return {size_bytes_, checksum_.value()};
}

void SafetensorsWriter::put(std::span<const std::byte> bytes) {
  size_bytes_ += bytes.size();
  if (bytes.size() < kParallelBytes) {
    checksum_.update(bytes);
    file_->append(bytes);
    return;
  }
  // Reading and writing the same bytes at once: the checksum is free.
  const std::jthread hashing([&] { checksum_.update(bytes); });
  file_->append(bytes);
}

void SafetensorsWriter::skip_full_tensors() {
  while (current_ < specs_.size() && current_bytes_ == needed_bytes()) {
    ++current_;
    current_bytes_ = 0;
  }
}

std::int64_t SafetensorsWriter::needed_bytes() const {
  return spec_size_bytes(specs_[current_]);
}

WrittenFile write_safetensors(FileSystem& files,
                              const std::filesystem::path& path,
                              const std::vector<TensorSource>& tensors,
                              const Metadata& metadata) {
  std::vector<TensorSpec> specs;
  std::unordered_map<std::string_view, const TensorSource*> by_name;
  for (const TensorSource& tensor : tensors) {
    specs.push_back(tensor.spec);
    by_name[tensor.spec.name] = &tensor;
  }
  SafetensorsWriter writer(files, path, std::move(specs), metadata);
  for (const TensorSpec& spec : writer.order()) {
    std::int64_t got = 0;
    by_name.at(spec.name)->bytes([&](std::span<const std::byte> bytes) {
      writer.append(bytes);
      got += static_cast<std::int64_t>(bytes.size());
    });
    TITAN_CHECK_EQ(got,
                   spec_size_bytes(spec),
                   "[checkpoint ",
                   path.string(),
                   "] bytes of \"",
                   spec.name,
                   '"');
  }
  return writer.finish();
}

}  // namespace titan::checkpoint

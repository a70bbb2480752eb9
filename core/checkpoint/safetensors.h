// SPDX-License-Identifier: BSD-3-Clause
// Reader of the safetensors format: 8 bytes little-endian header length, JSON
// header, tensor bytes. Files are untrusted: every length is checked against
// the file before it is used. Writer: safetensors_writer.h; folders of shards:
// safetensors_folder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/checkpoint/storage.h"

namespace titan::checkpoint {

/// The limit of the reference implementation.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// A tensor in row-major order inside a mapped file. `bytes` is borrowed from
/// the file, little-endian, and maybe not aligned for its type.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

struct SafetensorsContent {
  std::vector<TensorView> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// Parses a whole file's bytes; `file` names it in errors. Throws UserError
/// for anything but a strict safetensors file.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes,
                                     std::string_view file);

/// An open file. Movable; views stay valid while it (or what it was moved to)
/// lives. Any thread may read.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// Reads the header. Bytes of tensors need load() unless the file is local.
  SafetensorsFile(const FileSystem& files, const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return file_->bytes(); }
  /// Returns when `part`, some bytes of a tensor of this file, can be read.
  void load(std::span<const std::byte> part) const;
  const std::vector<TensorView>& tensors() const { return content_.tensors; }
  const std::map<std::string, std::string>& metadata() const {
    return content_.metadata;
  }

  /// Null when absent. A name that only the metadata knows, as an alias of a
  /// tensor (how `safetensors.torch.save_model` keeps tied weights), finds
  /// that tensor.
  const TensorView* find(std::string_view name) const;
  /// find() that throws UserError when absent.
  const TensorView& get(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::unique_ptr<const ReadableFile> file_;
  SafetensorsContent content_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace titan::checkpoint

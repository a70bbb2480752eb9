// SPDX-License-Identifier: BSD-3-Clause
// Tensors of a file that `torch.save` wrote. Python's objects in it are read
// as records and never executed; bytes of tensors stay where they are mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/checkpoint/mapped_file.h"
#include "core/checkpoint/pickle.h"
#include "core/checkpoint/safetensors_writer.h"

namespace titan::checkpoint {

/// A tensor as PyTorch stores it: `bytes` reach from its first element to its
/// last; strides count elements.
struct StridedTensor {
  TensorSpec spec;
  std::vector<std::int64_t> strides;
  std::span<const std::byte> bytes;

  bool is_contiguous() const;
};

/// Hands the elements, row-major, to the sink: in place when contiguous,
/// otherwise gathered piece by piece.
void read_elements(const StridedTensor& tensor, const ByteSink& sink);

struct TorchContent {
  std::vector<StridedTensor> tensors;  // in the order of the pickle
  std::vector<std::string> skipped;    // names of what is no tensor
};

/// Parses a whole file's bytes; `where` heads the errors. Names of nested
/// dicts and lists are joined with dots; `key`, such a name, selects one of
/// them and is not part of the names. A single tensor has the name "". Throws
/// UserError for anything but tensors and plain values in plain containers,
/// the format before PyTorch 1.6, and all that read_zip and read_pickle refuse.
TorchContent parse_torch(std::string_view where,
                         std::span<const std::byte> bytes,
                         std::string_view key = "");

/// A mapped file. Movable; any thread may read.
class TorchFile {
 public:
  explicit TorchFile(const std::filesystem::path& path,
                     std::string_view key = "");
  const TorchContent& content() const { return content_; }

 private:
  MappedFile file_;
  TorchContent content_;
};

/// PyTorch's name of a type, "bfloat16" and so on; nothing for others.
std::optional<Dtype> dtype_from_torch(std::string_view name);

/// Writes a dict of tensors that `torch.load(path, weights_only=True)` reads,
/// also with mmap=True. The file appears at `path` at once.
void write_torch_file(FileSystem& files,
                      const std::filesystem::path& path,
                      const std::vector<TensorSource>& tensors);

/// Hands out the file that `torch.save(tensor)` would write.
void write_torch_tensor(const ByteSink& sink, const TensorSource& tensor);

/// One PyTorch type: its name, its storage class ("" when only an untyped one
/// is written) and ours.
struct TorchType {
  std::string_view name;
  std::string_view storage;
  Dtype dtype;
};
std::span<const TorchType> torch_types();
/// Of a tensor that is written.
const TorchType& torch_type(const TensorSpec& spec);

}  // namespace titan::checkpoint

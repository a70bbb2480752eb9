// SPDX-License-Identifier: BSD-3-Clause
// Writes what torch.distributed.checkpoint's FileSystemWriter would on one
// rank: every tensor as one chunk, a torch file of its own inside
// __0_0.distcp, and .metadata, a pickle of PyTorch's classes that says where
// each lies. Without the memo, so the records repeat their names.
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/dcp_folder.h"
#include "core/checkpoint/pickle_writer.h"
#include "core/checkpoint/torch_file.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataFile = "__0_0.distcp";
constexpr const char* kModule = "torch.distributed.checkpoint.metadata";
constexpr const char* kFileModule = "torch.distributed.checkpoint.filesystem";

struct WrittenChunk {
  TensorSpec spec;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

class DcpMetadata {
 public:
  explicit DcpMetadata(const std::vector<WrittenChunk>& chunks)
      : chunks_(chunks) {}

  std::string pickle() && {
    begin_object(kModule, "Metadata");
    out_.text("state_dict_metadata");
    begin_dict();
    for (const WrittenChunk& chunk : chunks_) put_tensor(chunk.spec);
    out_.end_items();
    put_names();
    out_.text("storage_data");
    begin_dict();
    for (const WrittenChunk& chunk : chunks_) put_place(chunk);
    out_.end_items();
    put_storage();
    out_.text("version");
    out_.text("1.0.0");
    end_object();
    return std::move(out_).finish();
  }

 private:
  void begin_dict() {
    out_.empty_dict();
    out_.mark();
  }
  void begin_object(const char* module, const char* name) {
    out_.global(module, name);
    out_.object();
    begin_dict();
  }
  void end_object() {
    out_.end_items();
    out_.build();
  }
  void put_size(const std::vector<std::int64_t>& numbers) {
    out_.global("torch", "Size");
    out_.mark();
    out_.numbers(numbers);
    out_.end_tuple();
    out_.call();
  }

  // TensorProperties keeps a tuple: type, layout, requires_grad, memory
  // format (0: contiguous), pin_memory.
  void put_properties(const TensorSpec& spec) {
    out_.global(kModule, "TensorProperties");
    out_.object();
    out_.mark();
    out_.global("torch", torch_type(spec).name);
    out_.global("torch.serialization", "_get_layout");
    out_.mark();
    out_.text("torch.strided");
    out_.end_tuple();
    out_.call();
    out_.boolean(false);
    out_.global(kModule, "_MEM_FORMAT_ENCODING");
    out_.mark();
    out_.number(0);
    out_.end_tuple();
    out_.call();
    out_.boolean(false);
    out_.end_tuple();
    out_.build();
  }

  void put_tensor(const TensorSpec& spec) {
    out_.text(spec.name);
    begin_object(kModule, "TensorStorageMetadata");
    out_.text("properties");
    put_properties(spec);
    out_.text("size");
    put_size(spec.shape);
    out_.text("chunks");
    out_.empty_list();
    out_.mark();
    begin_object(kModule, "ChunkStorageMetadata");
    out_.text("offsets");
    put_size(origin_of(spec));
    out_.text("sizes");
    put_size(spec.shape);
    end_object();
    out_.end_appends();
    end_object();
  }

  // The path of each tensor in the dict that was saved: one flat dict.
  void put_names() {
    out_.text("planner_data");
    begin_dict();
    for (const WrittenChunk& chunk : chunks_) {
      out_.text(chunk.spec.name);
      out_.mark();
      out_.text(chunk.spec.name);
      out_.end_tuple();
    }
    out_.end_items();
  }

  void put_place(const WrittenChunk& chunk) {
    begin_object(kModule, "MetadataIndex");
    out_.text("fqn");
    out_.text(chunk.spec.name);
    out_.text("index");
    out_.number(0);
    out_.text("offset");
    put_size(origin_of(chunk.spec));
    end_object();
    begin_object(kFileModule, "_StorageInfo");
    out_.text("relative_path");
    out_.text(kDataFile);
    out_.text("offset");
    out_.number(chunk.offset);
    out_.text("length");
    out_.number(chunk.length);
    end_object();
  }

  void put_storage() {
    out_.text("storage_meta");
    begin_object(kModule, "StorageMeta");
    for (const char* const name : {"checkpoint_id", "save_id", "load_id"}) {
      out_.text(name);
      out_.none();
    }
    out_.text("modules");
    out_.empty_list();
    end_object();
  }

  static std::vector<std::int64_t> origin_of(const TensorSpec& spec) {
    return std::vector<std::int64_t>(spec.shape.size(), 0);
  }

  const std::vector<WrittenChunk>& chunks_;
  PickleWriter out_;
};

std::vector<WrittenChunk> write_chunks(
    FileSystem& files,
    const fs::path& path,
    const std::vector<TensorSource>& tensors) {
  const auto file = files.create(path);
  std::vector<WrittenChunk> chunks;
  std::int64_t offset = 0;
  for (const TensorSource& tensor : tensors) {
    WrittenChunk chunk{tensor.spec, offset, 0};
    write_torch_tensor(
        [&](std::span<const std::byte> bytes) {
          file->append(bytes);
          offset += static_cast<std::int64_t>(bytes.size());
        },
        tensor);
    chunk.length = offset - chunk.offset;
    chunks.push_back(std::move(chunk));
  }
  file->sync();
  file->close();
  return chunks;
}

}  // namespace

void write_dcp_folder(FileSystem& files,
                      const fs::path& path,
                      const std::vector<TensorSource>& tensors) {
  write_folder_by_rename(files, path, [&](const fs::path& folder) {
    const auto chunks = write_chunks(files, folder / kDataFile, tensors);
    write_file(files, folder / ".metadata", DcpMetadata(chunks).pickle());
  });
}

}  // namespace titan::checkpoint

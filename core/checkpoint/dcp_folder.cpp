// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/dcp_folder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/mapped_file.h"
#include "core/checkpoint/pickle.h"
#include "core/checkpoint/safetensors_folder.h"  // is_plain_file_name
#include "core/checkpoint/torch_file.h"
#include "core/layout/region.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;
using layout::num_elements;
using layout::Region;
using Shape = std::vector<std::int64_t>;

const std::string kMetadata = "torch.distributed.checkpoint.metadata.";
const std::string kFiles = "torch.distributed.checkpoint.filesystem.";

const PickleGlobals& metadata_globals() {
  static const PickleGlobals kGlobals = [] {
    PickleGlobals globals{kFiles + "_StorageInfo",
                          "collections.OrderedDict",
                          "torch.Size",
                          "torch.serialization._get_layout",
                          "pathlib.Path",
                          "pathlib.PosixPath",
                          "pathlib._local.PosixPath"};
    for (const char* const name : {"Metadata",
                                   "TensorStorageMetadata",
                                   "BytesStorageMetadata",
                                   "TensorProperties",
                                   "ChunkStorageMetadata",
                                   "MetadataIndex",
                                   "StorageMeta",
                                   "_MEM_FORMAT_ENCODING"})
      globals.insert(kMetadata + name);
    for (const TorchType& type : torch_types())
      globals.insert(text("torch.", type.name));
    return globals;
  }();
  return kGlobals;
}

struct Chunk {
  Region region;
  StridedTensor tensor;
};

struct Place {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

using ChunkId = std::pair<std::string, Shape>;
using MappedFiles = std::map<std::string, MappedFile>;

class DcpReader {
 public:
  explicit DcpReader(const fs::path& folder)
      : folder_(folder),
        where_(text("checkpoint ", (folder / ".metadata").string())),
        files_(std::make_shared<MappedFiles>()) {
    const MappedFile metadata(folder / ".metadata");
    document_ = read_pickle(where_, metadata.bytes(), metadata_globals());
  }

  std::vector<TensorSource> read() {
    const PickleValue& root = document_.at(document_.root);
    read_places(attribute(root, "storage_data", PickleKind::kDict));
    const PickleValue& tensors =
        attribute(root, "state_dict_metadata", PickleKind::kDict);
    std::vector<TensorSource> sources;
    for (std::size_t i = 0; i + 1 < tensors.items.size(); i += 2) {
      const PickleValue& name = document_.at(tensors.items[i]);
      const PickleValue& record = document_.at(tensors.items[i + 1]);
      check(name.kind == PickleKind::kText, "name: expected a text");
      if (record.text == kMetadata + "TensorStorageMetadata")
        sources.push_back(source(name.text, record));
    }
    return sources;
  }

 private:
  template <typename... Parts>
  void check(bool condition, const Parts&... parts) const {
    TITAN_USER_CHECK(condition, '[', where_, "] ", titan::text(parts...));
  }

  // An attribute of an object, which BUILD gave as a dict.
  const PickleValue* find(const PickleValue& object, const char* name) const {
    if (object.kind != PickleKind::kCall || object.state == kNoPickleValue)
      return nullptr;
    return document_.find(document_.at(object.state), name);
  }

  const PickleValue& attribute(const PickleValue& object,
                               const char* name,
                               PickleKind kind) const {
    const PickleValue* const value = find(object, name);
    check(value != nullptr && value->kind == kind,
          "attribute ",
          name,
          ": expected one of its kind, got none");
    return *value;
  }

  Shape numbers(const PickleValue& tuple) const {
    Shape found;
    for (const PickleIndex index : tuple.items) {
      const PickleValue& item = document_.at(index);
      check(item.kind == PickleKind::kInt && item.number >= 0,
            "size: expected integers of at least 0, got others");
      found.push_back(item.number);
    }
    return found;
  }

  void read_places(const PickleValue& storage) {
    for (std::size_t i = 0; i + 1 < storage.items.size(); i += 2) {
      const PickleValue& index = document_.at(storage.items[i]);
      const PickleValue& info = document_.at(storage.items[i + 1]);
      const PickleValue* const offset = find(index, "offset");
      const PickleValue* const further = find(info, "transform_descriptors");
      check(further == nullptr || further->kind == PickleKind::kNone ||
                further->items.empty(),
            "chunk: expected plain bytes, got transformed ones");
      const Shape numbers_of_file = {
          attribute(info, "offset", PickleKind::kInt).number,
          attribute(info, "length", PickleKind::kInt).number};
      check(numbers_of_file[0] >= 0 && numbers_of_file[1] >= 0,
            "place of a chunk: expected none below 0, got ",
            numbers_of_file);
      places_[{attribute(index, "fqn", PickleKind::kText).text,
               offset == nullptr ? Shape() : numbers(*offset)}] = {
          attribute(info, "relative_path", PickleKind::kText).text,
          static_cast<std::uint64_t>(numbers_of_file[0]),
          static_cast<std::uint64_t>(numbers_of_file[1])};
    }
  }

  std::span<const std::byte> bytes_at(const Place& place) {
    check(is_plain_file_name(place.file),
          "file of a chunk: expected a name without a folder, got \"",
          place.file,
          '"');
    auto found = files_->find(place.file);
    if (found == files_->end())
      found =
          files_->emplace(place.file, MappedFile(folder_ / place.file)).first;
    const auto bytes = found->second.bytes();
    check(place.offset <= bytes.size() &&
              place.length <= bytes.size() - place.offset,
          place.file,
          " is truncated: expected ",
          place.length,
          " bytes at ",
          place.offset,
          ", got a file of ",
          bytes.size());
    return bytes.subspan(place.offset, place.length);
  }

  Chunk read_chunk(const std::string& name, const PickleValue& record) {
    Chunk chunk;
    chunk.region = {numbers(attribute(record, "offsets", PickleKind::kTuple)),
                    numbers(attribute(record, "sizes", PickleKind::kTuple))};
    const auto place = places_.find({name, chunk.region.offset});
    check(place != places_.end(),
          "chunk of \"",
          name,
          "\" at ",
          chunk.region.offset,
          ": expected a place in a file, got none");
    TorchContent content = parse_torch(
        text("checkpoint ", (folder_ / place->second.file).string()),
        bytes_at(place->second));
    check(content.tensors.size() == 1 &&
              content.tensors[0].spec.shape == chunk.region.extent,
          "chunk of \"",
          name,
          "\": expected one tensor of shape ",
          chunk.region.extent,
          ", got another");
    chunk.tensor = std::move(content.tensors[0]);
    return chunk;
  }

  TensorSource source(const std::string& name, const PickleValue& record) {
    const Shape shape = numbers(attribute(record, "size", PickleKind::kTuple));
    auto chunks = std::make_shared<std::vector<Chunk>>();
    for (const PickleIndex index :
         attribute(record, "chunks", PickleKind::kList).items)
      chunks->push_back(read_chunk(name, document_.at(index)));
    require_cover(name, shape, *chunks);
    const TensorSpec spec{name, chunks->front().tensor.spec.dtype, shape};
    for (const Chunk& chunk : *chunks)
      check(chunk.tensor.spec.dtype == spec.dtype,
            "chunks of \"",
            name,
            "\": expected one type, got several");
    return {spec, [spec, chunks, files = files_](const ByteSink& sink) {
              write_chunks(spec, *chunks, sink);
            }};
  }

  // Every element once: disjoint, inside, and as many as the tensor has.
  void require_cover(const std::string& name,
                     const Shape& shape,
                     std::vector<Chunk>& chunks) const {
    const auto total = tensor_size_bytes(Dtype::kU8, shape);
    std::int64_t covered = 0;
    bool is_good = total.has_value() && !chunks.empty();
    for (std::size_t i = 0; i < chunks.size() && is_good; ++i) {
      const Region& region = chunks[i].region;
      is_good = region.offset.size() == shape.size() &&
                region.extent.size() == shape.size();
      for (std::size_t d = 0; d < shape.size() && is_good; ++d)
        is_good = region.extent[d] <= shape[d] &&
                  region.offset[d] <= shape[d] - region.extent[d];
      if (!is_good) break;
      covered += num_elements(region);
      for (std::size_t j = 0; j < i; ++j)
        is_good = is_good && are_apart(region, chunks[j].region);
    }
    check(is_good && covered == *total,
          "chunks of \"",
          name,
          "\": expected them to cover shape ",
          shape,
          " once, got ",
          covered,
          " elements");
    std::ranges::sort(
        chunks, {}, [](const Chunk& chunk) { return chunk.region.offset; });
  }

  static bool are_apart(const Region& a, const Region& b) {
    for (std::size_t d = 0; d < a.offset.size(); ++d)
      if (a.offset[d] >= b.offset[d] + b.extent[d] ||
          b.offset[d] >= a.offset[d] + a.extent[d])
        return true;
    return a.offset.empty() ? false
                            : num_elements(a) == 0 || num_elements(b) == 0;
  }

  static void write_chunks(const TensorSpec& spec,
                           const std::vector<Chunk>& chunks,
                           const ByteSink& sink) {
    const bool are_slices = std::ranges::all_of(chunks, [&](const Chunk& c) {
      return std::equal(c.region.extent.begin() + !spec.shape.empty(),
                        c.region.extent.end(),
                        spec.shape.begin() + !spec.shape.empty());
    });
    if (are_slices) {
      for (const Chunk& chunk : chunks) {
        read_elements(chunk.tensor, sink);
        drop_pages(chunk.tensor.bytes);
      }
      return;
    }
    std::vector<std::byte> whole(
        static_cast<std::size_t>(spec_size_bytes(spec)));
    for (const Chunk& chunk : chunks) copy_chunk(spec, chunk, whole);
    sink(whole);
  }

  // Row by row of the last dimension.
  static void copy_chunk(const TensorSpec& spec,
                         const Chunk& chunk,
                         std::span<std::byte> whole) {
    std::vector<std::byte> rows;
    read_elements(chunk.tensor, [&](std::span<const std::byte> piece) {
      rows.insert(rows.end(), piece.begin(), piece.end());
    });
    const Region& region = chunk.region;
    const std::int64_t item = dtype_size_bytes(spec.dtype);
    const std::int64_t row = region.extent.back() * item;
    Shape position = region.offset;
    for (std::int64_t at = 0; at < std::ssize(rows); at += row) {
      std::int64_t to = 0;
      for (std::size_t d = 0; d < position.size(); ++d)
        to = to * spec.shape[d] + position[d];
      std::memcpy(whole.data() + to * item,
                  rows.data() + at,
                  static_cast<std::size_t>(row));
      for (std::size_t d = position.size() - 1; d-- > 0;) {
        if (++position[d] < region.offset[d] + region.extent[d]) break;
        position[d] = region.offset[d];
      }
    }
  }

  fs::path folder_;
  std::string where_;
  PickleDocument document_;
  std::map<ChunkId, Place> places_;
  std::shared_ptr<MappedFiles> files_;
};

}  // namespace

std::vector<TensorSource> dcp_sources(const fs::path& path) {
  return DcpReader(path).read();
}

}  // namespace titan::checkpoint

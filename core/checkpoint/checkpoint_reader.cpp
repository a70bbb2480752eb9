// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_reader.h"

#include <optional>
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/checksum.h"
#include "core/layout/reshard.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;

void verify_size(const FileSystem& files,
                 const fs::path& path,
                 const FileRecord& record) {
  const std::optional<std::uint64_t> size_bytes = files.size(path);
  TITAN_USER_CHECK(size_bytes.has_value(),
                   "[checkpoint ",
                   path.string(),
                   "] file is absent: expected ",
                   record.size_bytes,
                   " bytes, got none");
  TITAN_USER_CHECK(*size_bytes == record.size_bytes,
                   "[checkpoint ",
                   path.string(),
                   *size_bytes < record.size_bytes
                       ? "] file is truncated: expected "
                       : "] file is too long: expected ",
                   record.size_bytes,
                   " bytes, got ",
                   *size_bytes);
}

void verify_checksum(const FileSystem& files,
                     const fs::path& path,
                     const FileRecord& record) {
  const auto file = files.open(path);
  file->load(0, file->bytes().size());
  const std::uint64_t checksum = compute_checksum(file->bytes());
  TITAN_USER_CHECK(checksum == record.checksum,
                   "[checkpoint ",
                   path.string(),
                   "] file is damaged: expected checksum ",
                   checksum_text(record.checksum),
                   ", got ",
                   checksum_text(checksum));
}

bool wants_checksums(const FileSystem& files,
                     const Manifest& manifest,
                     Verification verification) {
  if (verification != Verification::kAutomatic)
    return verification == Verification::kChecksums;
  if (files.is_object_store()) return false;
  std::uint64_t total_bytes = 0;
  for (const FileRecord& record : manifest.files)
    total_bytes += record.size_bytes;
  return total_bytes <= kAutomaticChecksumBytes;
}

// The rows of a piece that a box of it lies in.
void load_rows(const TensorPiece& piece,
               const Region& box,
               std::int64_t item_bytes) {
  const Region& region = piece.record->region;
  if (region.extent.empty()) return piece.file->load(piece.bytes);
  Region row = region;
  row.extent[0] = 1;
  const std::int64_t row_bytes = num_elements(row) * item_bytes;
  const auto at = [&](std::int64_t rows) {
    return static_cast<std::size_t>(rows * row_bytes);
  };
  piece.file->load(piece.bytes.subspan(at(box.offset[0] - region.offset[0]),
                                       at(box.extent[0])));
}

// Files hold each element once, so it does not matter which holder is whose.
layout::Layout layout_of(const std::vector<std::int64_t>& shape,
                         std::span<const TensorPiece> pieces) {
  layout::Layout layout{shape, {}};
  for (const TensorPiece& piece : pieces)
    layout.pieces.push_back({0, piece.record->region});
  return layout;
}

}  // namespace

Manifest verify_checkpoint(const fs::path& path,
                           Verification verification,
                           const FileSystem& files) {
  const fs::path manifest_path = path / kManifestName;
  Manifest manifest =
      parse_manifest(read_text(files, manifest_path), manifest_path.string());
  for (const FileRecord& record : manifest.files)
    verify_size(files, path / record.name, record);
  if (wants_checksums(files, manifest, verification))
    for (const FileRecord& record : manifest.files)
      verify_checksum(files, path / record.name, record);
  return manifest;
}

CheckpointReader::CheckpointReader(const fs::path& path,
                                   Verification verification,
                                   const FileSystem& files)
    : path_(path), manifest_(verify_checkpoint(path, verification, files)) {
  open_pieces(files);
}

void CheckpointReader::open_pieces(const FileSystem& files) {
  for (const TensorRecord& record : manifest_.tensors) {
    auto file = files_.find(record.file);
    if (file == files_.end())
      file =
          files_
              .emplace(record.file, SafetensorsFile(files, path_ / record.file))
              .first;
    const TensorView& view = file->second.get(record.key);
    TITAN_USER_CHECK(
        view.dtype == record.dtype && view.shape == record.region.extent,
        "[checkpoint ",
        file->second.path().string(),
        "] tensor \"",
        record.key,
        "\": expected ",
        dtype_name(record.dtype),
        ' ',
        record.region.extent,
        " as the manifest says, got ",
        dtype_name(view.dtype),
        ' ',
        view.shape);
    pieces_[{record.role, record.name}].push_back(
        {&record, view.bytes, &file->second});
  }
}

const TensorRecord* CheckpointReader::find(std::string_view role,
                                           std::string_view name) const {
  const std::span<const TensorPiece> found = pieces(role, name);
  return found.empty() ? nullptr : found.front().record;
}

std::span<const TensorPiece> CheckpointReader::pieces(
    std::string_view role,
    std::string_view name) const {
  const auto it = pieces_.find({role, name});
  if (it == pieces_.end()) return {};
  return it->second;
}

void CheckpointReader::read(std::string_view role,
                            std::string_view name,
                            const Region& region,
                            std::span<std::byte> out) const {
  read_regions(role, name, std::span(&region, 1), out);
}

void CheckpointReader::read_regions(std::string_view role,
                                    std::string_view name,
                                    std::span<const Region> regions,
                                    std::span<std::byte> out) const {
  const TensorRecord* const record = find(role, name);
  TITAN_USER_CHECK(record != nullptr,
                   "[checkpoint ",
                   path_.string(),
                   "] ",
                   role,
                   " tensor is absent: expected \"",
                   name,
                   "\", got ",
                   manifest_.tensors.size(),
                   " others");
  const std::int64_t item_bytes = dtype_size_bytes(record->dtype);
  const std::span<const TensorPiece> stored = pieces(role, name);
  const layout::Layout from = layout_of(record->shape, stored);
  layout::Layout to{record->shape, {}};
  std::vector<std::span<std::byte>> places;
  for (const Region& region : regions) {
    const auto bytes =
        static_cast<std::size_t>(num_elements(region) * item_bytes);
    TITAN_CHECK(bytes <= out.size(),
                "[checkpoint] destination of \"",
                name,
                "\": expected room for ",
                bytes,
                " bytes, got ",
                out.size());
    to.pieces.push_back({0, region});
    places.push_back(out.first(bytes));
    out = out.subspan(bytes);
  }
  TITAN_CHECK_EQ(
      out.size(), 0u, "[checkpoint] destination bytes left of \"", name, '"');
  for (const layout::Route& route : layout::plan_routes(from, to)) {
    load_rows(stored[route.from], route.box, item_bytes);
    layout::copy_box(route.box,
                     from.pieces[route.from].region,
                     stored[route.from].bytes,
                     to.pieces[route.to].region,
                     places[route.to],
                     item_bytes);
  }
}

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Opens one checkpoint. Nothing is trusted: sizes always, checksums when asked
// or cheap, each tensor's header against the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors.h"

namespace titan::checkpoint {

enum class Verification {
  kSizes,      // manifest, and that every file has its size
  kAutomatic,  // also checksums, up to kAutomaticChecksumBytes in total
  kChecksums,  // also checksums, always
};

/// A few seconds of reading: about what a restart may cost unasked.
inline constexpr std::uint64_t kAutomaticChecksumBytes = std::uint64_t{8} << 30;

/// Reads the manifest and checks the files against it. Throws UserError that
/// names the file, what was expected and what is there. kAutomatic reads no
/// checksums from an object store: that would fetch all for a part.
Manifest verify_checkpoint(const std::filesystem::path& path,
                           Verification verification,
                           const FileSystem& files = real_file_system());

/// One stored piece of a tensor; borrowed from the reader. Its bytes can be
/// read after file->load() of them.
struct TensorPiece {
  const TensorRecord* record = nullptr;
  std::span<const std::byte> bytes;
  const SafetensorsFile* file = nullptr;
};

/// An open checkpoint. Movable; any thread may read.
class CheckpointReader {
 public:
  /// `files` outlives the reader.
  explicit CheckpointReader(
      const std::filesystem::path& path,
      Verification verification = Verification::kAutomatic,
      const FileSystem& files = real_file_system());

  const std::filesystem::path& path() const { return path_; }
  std::int64_t step() const { return manifest_.step; }
  /// Tensors, files, trainer state and the rest.
  const Manifest& manifest() const { return manifest_; }

  /// Null when absent; otherwise a record with the dtype and whole shape.
  const TensorRecord* find(std::string_view role, std::string_view name) const;

  /// All pieces of a tensor; none when absent.
  std::span<const TensorPiece> pieces(std::string_view role,
                                      std::string_view name) const;

  /// Copies a region of a tensor, row-major, from whichever pieces hold it.
  /// Throws UserError when the tensor is absent; a region outside the tensor
  /// or a wrong size of `out` is a BugError.
  void read(std::string_view role,
            std::string_view name,
            const Region& region,
            std::span<std::byte> out) const;

  /// The same for several regions, which lie in `out` one behind the other:
  /// what a rank holds of a tensor (core/layout/placement.h).
  void read_regions(std::string_view role,
                    std::string_view name,
                    std::span<const Region> regions,
                    std::span<std::byte> out) const;

 private:
  void open_pieces(const FileSystem& files);

  std::filesystem::path path_;
  Manifest manifest_;
  std::map<std::string, SafetensorsFile, std::less<>> files_;
  // Keyed by role and name.
  std::map<std::pair<std::string_view, std::string_view>,
           std::vector<TensorPiece>>
      pieces_;
};

}  // namespace titan::checkpoint

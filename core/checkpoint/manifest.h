// SPDX-License-Identifier: BSD-3-Clause
// The manifest of a checkpoint: what is in it, to the byte, and the state that
// is not tensors. Grammar: docs/checkpoint_format.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/layout/region.h"

namespace titan::checkpoint {

using layout::num_elements;
using layout::Region;
using layout::whole_region;

inline constexpr std::string_view kManifestName = "manifest.json";

struct FileRecord {
  std::string name;  // inside the checkpoint's folder
  std::uint64_t size_bytes = 0;
  std::uint64_t checksum = 0;
};

/// A tensor, or the piece of it that one rank stores.
struct TensorRecord {
  std::string name;  // fully qualified name of the parameter
  std::string role;  // "model", "optimizer/<state>"
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;  // of the whole tensor
  Region region;                    // of this piece
  std::string file;
  std::string key;  // its name inside the file
};

/// JSON texts of the parts that other components own; checkpoints carry them
/// without looking inside.
struct CheckpointState {
  std::string trainer = "{}";  // step, data state, rng, tokens seen, schedule
  std::string recipe = "{}";   // resolved
  std::string plugins = "{}";  // lock: ids, versions, sha256
  std::string layout = "{}";   // mesh and plan
};

struct Manifest {
  std::int64_t step = 0;
  std::int64_t world_size = 1;
  std::vector<FileRecord> files;
  std::vector<TensorRecord> tensors;
  CheckpointState state;
  std::vector<std::string> rank_states;  // JSON text of each rank
};

/// What one rank wrote: the content of its done marker.
struct RankReport {
  std::int64_t step = 0;
  std::int64_t rank = 0;
  std::vector<FileRecord> files;
  std::vector<TensorRecord> tensors;
  std::string state = "{}";
};

/// The file's text, sealed by a checksum in its first line. Texts inside
/// `manifest` must be JSON (BugError).
std::string manifest_text(const Manifest& manifest);

/// Throws UserError unless `text` is an undamaged manifest in which files are
/// plain names, given once, and the pieces of each tensor are disjoint and
/// complete. `file` names it in errors.
Manifest parse_manifest(std::string_view text, std::string_view file);

/// Sealed like the manifest, so that a marker of which only a part has arrived
/// is told from a whole one. parse throws UserError for anything else.
std::string rank_report_text(const RankReport& report);
RankReport parse_rank_report(std::string_view text, std::string_view file);

/// Throws UserError, tagged with `where`, unless the pieces of each tensor
/// agree on type and shape, are disjoint and complete.
void require_complete_tensors(std::string_view where,
                              const std::vector<TensorRecord>& tensors);

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Folders of `torch.distributed.checkpoint`, read and written: .metadata
// says which chunk of which tensor lies where, each chunk is a small torch
// file inside a .distcp file.
#pragma once

#include <filesystem>
#include <vector>

#include "core/checkpoint/safetensors_writer.h"

namespace titan::checkpoint {

/// All tensors; values that are none are left out. Chunks that are slices of
/// the first dimension stream, others are put together in memory. Throws
/// UserError for chunks that do not cover their tensor exactly once, and for
/// files that were encoded further (compressed).
std::vector<TensorSource> dcp_sources(const std::filesystem::path& path);

/// Writes a flat dict of tensors that `dcp.load` and `dcp_to_torch_save` read,
/// in the format "1.0.0" of PyTorch 2.x. The folder appears at `path`, which
/// must not exist, when it is complete.
void write_dcp_folder(FileSystem& files,
                      const std::filesystem::path& path,
                      const std::vector<TensorSource>& tensors);

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// Tensors of a folder that `torch.distributed.checkpoint` wrote: .metadata
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

}  // namespace titan::checkpoint

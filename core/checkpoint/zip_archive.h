// SPDX-License-Identifier: BSD-3-Clause
// A zip file whose entries are stored, not compressed: how PyTorch keeps
// tensors, so that they can be used in place. Nothing in it is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace titan::checkpoint {

/// The content of each entry, borrowed from `bytes`, by name.
using ZipEntries =
    std::map<std::string, std::span<const std::byte>, std::less<>>;

/// Reads the central directory (zip64 too) and checks every entry against its
/// local header. Throws UserError, headed by `where`, for compressed or
/// encrypted entries, two of one name, entries that overlap or leave the file.
ZipEntries read_zip(std::string_view where, std::span<const std::byte> bytes);

}  // namespace titan::checkpoint

// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 (FIPS 180-4), for pins and the build manifest of plugins. Our own
// 100 lines instead of OpenSSL: one hash is all that is needed, and libcrypto
// would be the only dependency that talks to nobody else. Proven with NIST's
// vectors (tests/unit/core/plugin/sha256_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace titan::plugin {

using Sha256 = std::array<std::uint8_t, 32>;

/// Hashes `bytes`; uses the CPU's SHA instructions where they are.
Sha256 sha256(std::span<const std::byte> bytes);

/// The portable path alone, so that a test can hold both against each other.
Sha256 sha256_portable(std::span<const std::byte> bytes);

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace titan::plugin

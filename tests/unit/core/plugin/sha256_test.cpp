// SPDX-License-Identifier: BSD-3-Clause
// Vectors: NIST CSRC, "SHA-256 example" and SHAVS short messages.
#include "core/plugin/sha256.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace titan::plugin {
namespace {

std::string hash_of(std::string_view words) {
  return sha256_hex(std::as_bytes(std::span(words)));
}

}  // namespace

TEST_CASE("sha256 gives NIST's answers", "[unit]") {
  CHECK(hash_of("") ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash_of(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 by instructions equals sha256 by arithmetic at every length",
          "[unit]") {
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 131 + 7);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::span<const std::byte> part(bytes.data(), size);
    CAPTURE(size);
    CHECK(sha256(part) == sha256_portable(part));
  }
}

}  // namespace titan::plugin

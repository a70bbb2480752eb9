// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checksum.h"

#include <new>
#include <utility>

#include <xxhash.h>

namespace titan::checkpoint {

struct Checksum::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  // From the library, because the state wants 64-byte alignment.
  std::unique_ptr<XXH3_state_t, Free> xxh3{XXH3_createState()};
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  if (!state_->xxh3) throw std::bad_alloc();
  XXH3_64bits_reset(state_->xxh3.get());
}
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::update(std::span<const std::byte> bytes) {
  // xxhash 0.8.1 calls a null input an error even when it is empty.
  if (bytes.empty()) return;
  XXH3_64bits_update(state_->xxh3.get(), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(state_->xxh3.get());
}

std::uint64_t compute_checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string checksum_text(std::uint64_t value) {
  std::string digits(16, '0');
  for (int index = 15; index >= 0; --index, value >>= 4)
    digits[static_cast<std::size_t>(index)] = "0123456789abcdef"[value & 15];
  return digits;
}

}  // namespace titan::checkpoint

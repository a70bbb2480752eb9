// SPDX-License-Identifier: BSD-3-Clause
// XXH3-64, the checksum of checkpoint files: detects damage, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace titan::checkpoint {

/// Running checksum of the bytes given so far.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t compute_checksum(std::span<const std::byte> bytes);

/// Sixteen lower-case hexadecimal digits, most significant first.
std::string checksum_text(std::uint64_t value);

}  // namespace titan::checkpoint

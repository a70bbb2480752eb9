// SPDX-License-Identifier: BSD-3-Clause
// Memory that a save copies the state into, so that training goes on while
// files are written. Its pages are touched once and reused: fresh ones cost
// four times the copy (docs/checkpoint_format.md, "Saving in the background").
#pragma once

#include <cstddef>
#include <span>

namespace titan::checkpoint {

/// Owned by one thread at a time. Grows to the largest save and stays.
class StagingBuffer {
 public:
  StagingBuffer() = default;
  ~StagingBuffer();
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;

  /// At least this much, page-aligned; what was in it may be lost. DeviceError
  /// when the memory is not there.
  std::span<std::byte> reserve(std::size_t size_bytes);

  std::size_t capacity_bytes() const { return memory_.size(); }

 private:
  void release();

  std::span<std::byte> memory_;
};

}  // namespace titan::checkpoint

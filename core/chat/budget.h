// SPDX-License-Identifier: BSD-3-Clause
// What a template may use up: templates come with downloaded models and are
// not trusted. Counted, never timed, so that a template works everywhere or
// nowhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/chat/problem.h"

namespace titan::chat {

struct RenderLimits {
  /// Rendered text. A conversation of a million tokens is about 4 MB.
  int64_t max_output_bytes = int64_t{64} << 20;
  /// Statements, loop turns and items that filters visit.
  int64_t max_steps = 50'000'000;
  /// All text and lists made on the way, 32 bytes per item.
  int64_t max_work_bytes = int64_t{1} << 30;
  /// Statements, expressions and macro calls inside each other. Published
  /// templates need about 40. A level took at most 0.6 KB of stack in an
  /// optimised build; debug builds and sanitizers take more: not measured.
  int max_depth = 600;
};

/// Throws Problem where a limit is passed.
class Budget {
 public:
  explicit Budget(const RenderLimits& limits) : limits_(limits) {}

  void step(int64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.max_steps)
      fail("the template does not end: expected at most ",
           limits_.max_steps,
           " steps");
  }

  void charge_bytes(size_t size) {
    bytes_ += static_cast<int64_t>(size);
    if (bytes_ > limits_.max_work_bytes)
      fail("the template makes too much text: expected at most ",
           limits_.max_work_bytes,
           " bytes on the way");
  }

  void charge_items(size_t count) {
    step(static_cast<int64_t>(count));
    charge_bytes(count * kItemBytes);
  }

  void check_output(size_t size) const {
    if (static_cast<int64_t>(size) > limits_.max_output_bytes)
      fail("the text is too long: expected at most ",
           limits_.max_output_bytes,
           " bytes");
  }

  /// One level of nesting, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (++budget_.depth_ > budget_.limits_.max_depth) {
        --budget_.depth_;
        fail("the template nests too deeply: expected at most ",
             budget_.limits_.max_depth,
             " levels");
      }
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  static constexpr size_t kItemBytes = 32;

  RenderLimits limits_;
  int64_t steps_ = 0;
  int64_t bytes_ = 0;
  int depth_ = 0;
};

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
// Takes the log's lines while it lives, and forgets what earlier tests said.
#pragma once

#include <string>
#include <vector>

#include "core/observe/log.h"

namespace titan::test {

class CapturedLog {
 public:
  CapturedLog() {
    log::forget_once();
    log::set_sink([this](log::Level level, std::string_view line) {
      lines.emplace_back(line);
      levels.push_back(level);
    });
  }
  ~CapturedLog() { log::set_sink({}); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::vector<std::string> lines;
  std::vector<log::Level> levels;
};

}  // namespace titan::test

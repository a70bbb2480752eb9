// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a token file of each format. The footer's checksum cannot be
// guessed: it is written anew over the input, so that what lies behind it is
// reached. What opens is read to its end, as a dataset of several units.
#include <cstdint>
#include <cstring>

#include <titan/error.h>

#include "core/checkpoint/checksum.h"
#include "core/data/read_report.h"
#include "core/data/token_dataset.h"
#include "core/data/token_file.h"
#include "tests/fuzz/memory_file.h"

namespace {

void read(const std::string& path) {
  try {
    const titan::TokenFile file(path);
    file.verify();
  } catch (const titan::UserError&) {
    // What a hostile file deserves; it may still open as a dataset.
  }
  try {
    titan::ReadReport report(titan::OnBadRecord::kSkip);
    titan::DatasetOptions options;
    options.files = {path};
    options.num_lanes = 4;
    options.seq_len = 2;
    options.report = &report;
    const auto dataset = titan::open_token_dataset(options);
    for (int64_t unit = 0; unit < dataset->num_units(); ++unit) {
      std::vector<titan::Record> records;
      dataset->open(unit)->next_block(records);
    }
  } catch (const titan::UserError&) {
    // As above.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const titan::fuzz::MemoryFile file;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size == 0) return 0;
  read(file.write(bytes));
  if (size < 40) return 0;
  const auto footer = std::as_bytes(std::span(bytes)).subspan(size - 40, 32);
  const std::uint64_t sum = titan::checkpoint::compute_checksum(footer);
  std::memcpy(bytes.data() + size - 8, &sum, sizeof(sum));
  read(file.write(bytes));
  return 0;
}

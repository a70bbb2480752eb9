// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a JSONL file, plain or compressed. Bad lines are skipped; cut
// into one unit or into many, the file has the same records and the same
// number of bad ones, and each has a line number.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <titan/error.h>

#include "core/data/dataset.h"
#include "core/data/read_report.h"
#include "tests/fuzz/memory_file.h"

namespace {

struct Found {
  std::vector<std::string> contents;
  int64_t num_bad = 0;

  bool operator==(const Found&) const = default;
};

Found read(const std::string& path, int64_t lanes, int64_t block_bytes) {
  titan::ReadReport report(titan::OnBadRecord::kSkip);
  titan::DatasetOptions options;
  options.files = {path};
  options.field = "text";
  options.num_lanes = lanes;
  options.block_bytes = block_bytes;
  options.report = &report;
  const auto dataset = titan::open_jsonl_dataset(options);
  Found found;
  for (int64_t unit = 0; unit < dataset->num_units(); ++unit) {
    const auto reader = dataset->open(unit);
    std::vector<titan::Record> records;
    while (reader->next_block(records)) {
    }
    for (const titan::Record& record : records) {
      if (dataset->describe(record.place).find(':') == std::string::npos)
        std::abort();
      found.contents.push_back(record.content);
    }
  }
  std::sort(found.contents.begin(), found.contents.end());
  found.num_bad = report.counts().num_bad_records;
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const titan::fuzz::MemoryFile file;
  if (size == 0) return 0;
  const std::string path =
      file.write({reinterpret_cast<const char*>(data), size});
  try {
    const Found whole = read(path, 1, 1 << 20);
    if (!(read(path, 3, 16) == whole)) std::abort();
  } catch (const titan::UserError&) {
    // A damaged compressed file.
  }
  return 0;
}

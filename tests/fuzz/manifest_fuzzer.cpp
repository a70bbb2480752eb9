// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a manifest and as a rank's report. The first line is the seal,
// whose checksum a fuzzer cannot guess: it is written anew over the input, so
// that what lies behind it is reached. What is accepted is written and read
// again, to the same text.
#include <cstdlib>
#include <string>
#include <string_view>

#include <titan/error.h>

#include "core/checkpoint/checksum.h"
#include "core/checkpoint/manifest.h"

using namespace titan::checkpoint;

namespace {

std::string sealed(std::string_view format, std::string_view rest) {
  return titan::text(
      "{\"format\": \"",
      format,
      "\", \"checksum\": \"",
      checksum_text(compute_checksum(std::as_bytes(std::span(rest)))),
      "\",\n",
      rest);
}

template <typename Read, typename Write>
void check(const std::string& text, const Read& read, const Write& write) {
  try {
    const std::string again = write(read(text, "fuzz"));
    if (write(read(again, "fuzz")) != again) std::abort();
  } catch (const titan::UserError&) {
    // What a hostile file deserves.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check(std::string(input), parse_manifest, manifest_text);
  check(sealed("titan.checkpoint/1", input), parse_manifest, manifest_text);
  check(sealed("titan.rank_report/1", input),
        parse_rank_report,
        rank_report_text);
  return 0;
}

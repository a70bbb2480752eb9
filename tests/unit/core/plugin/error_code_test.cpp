// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/error_code.h"

#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace titan::plugin {

TEST_CASE("docs/errors.md has every code with its name, and no other",
          "[unit]") {
  std::ifstream file(std::string(TITAN_SOURCE_DIR) + "/docs/errors.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::size_t num_rows = 0;
  for (std::size_t at = page.find("\n| "); at != std::string::npos;
       at = page.find("\n| ", at + 1))
    num_rows += page[at + 3] >= '1' && page[at + 3] <= '9';
  CHECK(num_rows == all_codes().size());
  for (const CodeInfo& info : all_codes()) {
    const std::string row = text("\n| ",
                                 static_cast<int>(info.code),
                                 " | `",
                                 info.name,
                                 "` | ",
                                 info.group,
                                 " | ");
    CAPTURE(row);
    CHECK(page.find(row) != std::string::npos);
    CHECK(page.find(info.hint) != std::string::npos);
  }
}

TEST_CASE("codes ascend, so that none is used twice", "[unit]") {
  const auto codes = all_codes();
  for (std::size_t i = 1; i < codes.size(); ++i)
    CHECK(codes[i - 1].code < codes[i].code);
}

TEST_CASE("a code's text has the file's name, the name and the number",
          "[unit]") {
  CHECK(code_text(Code::kTorchTooOld, "/opt/acme/libacme.so", "too old") ==
        "[plugin libacme.so] TORCH_TOO_OLD (305): too old");
}

}  // namespace titan::plugin

// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/check.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

using Json = nlohmann::json;

struct Case {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<int32_t> ids_special;
  std::string decoded;
  std::string decoded_skip;
};

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, '[', path.string(), "] file cannot be read");
  std::vector<Case> cases;
  try {
    for (const Json& json : Json::parse(file))
      cases.push_back({json.at("text"),
                       json.at("ids"),
                       json.at("ids_special"),
                       json.at("decoded"),
                       json.at("decoded_skip")});
  } catch (const Json::exception& error) {
    throw UserError(text('[',
                         path.string(),
                         "] case ",
                         cases.size(),
                         " cannot be read: ",
                         error.what()));
  }
  TITAN_USER_CHECK(!cases.empty(), '[', path.string(), "] has no cases");
  return cases;
}

template <typename Value>
void compare(const Value& got,
             const Value& expected,
             const std::string& what,
             TokenizerCheck& check) {
  if (got == expected) return;
  check.differences.push_back(text(
      what, ": expected ", Json(expected).dump(), ", got ", Json(got).dump()));
}

}  // namespace

TokenizerCheck check_tokenizer(const std::filesystem::path& spec) {
  const auto tokenizer = load_tokenizer(spec.string());
  const std::filesystem::path folder =
      std::filesystem::is_directory(spec) ? spec : spec.parent_path();
  TokenizerCheck check;
  for (const Case& one : read_cases(folder / "cases.json")) {
    const std::string tag = text("case ", check.num_cases++, ' ');
    const std::vector<int32_t> ids = tokenizer->encode(one.text, false, false);
    compare(ids, one.ids, tag + "ids", check);
    compare(tokenizer->encode_with_template(one.text),
            one.ids_special,
            tag + "ids_special",
            check);
    compare(to_valid_utf8(tokenizer->decode(one.ids)),
            one.decoded,
            tag + "decoded",
            check);
    compare(to_valid_utf8(tokenizer->decode(one.ids, true)),
            one.decoded_skip,
            tag + "decoded_skip",
            check);
  }
  return check;
}

}  // namespace titan

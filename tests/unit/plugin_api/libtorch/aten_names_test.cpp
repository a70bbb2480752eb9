// SPDX-License-Identifier: BSD-3-Clause
// The SDK names ATen ops by text, so a wrong name would show only when a model
// first calls it: here each is looked up in the LibTorch of this build.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <ATen/core/dispatch/Dispatcher.h>
#include <catch2/catch.hpp>

namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  static const std::regex kName(R"re(\baten::[a-z_0-9]+(\.[A-Za-z_0-9]+)?")re");
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path path = entry.path();
    if (path.extension() != ".hpp" && path.extension() != ".cpp") continue;
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::sregex_iterator it(text.begin(), text.end(), kName), end;
         it != end;
         ++it) {
      const std::string quoted = it->str();
      out.insert(quoted.substr(0, quoted.size() - 1));
    }
  }
  return out;
}

bool is_known(const std::string& name) {
  const auto dot = name.find('.');
  const std::string overload =
      dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton()
      .findSchema({name.substr(0, dot), overload})
      .has_value();
}

}  // namespace

TEST_CASE("every ATen op that the SDK and plugins name exists", "[unit]") {
  const fs::path root = TITAN_SOURCE_DIR;
  std::size_t count = 0;
  for (const char* folder :
       {"plugin_api/include/titan/sdk", "plugins", "tests/abi/forward"})
    for (const std::string& name : names_in(root / folder)) {
      INFO(folder << ": " << name);
      CHECK(is_known(name));
      ++count;
    }
  CHECK(count > 80);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/storage/s3/xml.h"

#include <random>

#include <catch2/catch.hpp>

using namespace titan::s3;

TEST_CASE("elements and their texts are found", "[unit]") {
  const std::string_view xml =
      "<R><Contents><Key>a&amp;b</Key></Contents>"
      "<Contents><Key>c</Key></Contents><Empty/><Open>";
  const auto contents = elements(xml, "Contents");
  REQUIRE(contents.size() == 2);
  CHECK(element_text(contents[0], "Key") == "a&b");
  CHECK(element_text(contents[1], "Key") == "c");
  CHECK(element_text(xml, "None").empty());
  CHECK(elements(xml, "Open").empty());
}

TEST_CASE("percent signs are decoded, broken ones kept", "[unit]") {
  CHECK(percent_decode("a%2Fb+c%20d") == "a/b c d");
  CHECK(percent_decode("%") == "%");
  CHECK(percent_decode("%4") == "%4");
  CHECK(percent_decode("%zz%41") == "%zzA");
  CHECK(percent_decode("%41") == "A");
}

TEST_CASE("no answer makes the reader crash (seed 9)", "[unit]") {
  std::mt19937 random(9);
  constexpr std::string_view kTokens = "<>/KeyContents&amp;%2F; ";
  for (int round = 0; round < 20'000; ++round) {
    std::string answer(random() % 60, ' ');
    for (char& c : answer) c = kTokens[random() % kTokens.size()];
    for (const std::string_view entry : elements(answer, "Key")) {
      CHECK(entry.size() <= answer.size());
      percent_decode(entry);
    }
  }
}

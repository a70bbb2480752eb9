// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/storage/s3/xml.h"

#include <array>
#include <utility>

namespace titan::s3 {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
    {{"&amp;", '&'},
     {"&lt;", '<'},
     {"&gt;", '>'},
     {"&quot;", '"'},
     {"&apos;", '\''}}};

std::string decode_entities(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t used = 1;
    char c = text.front();
    for (const auto& [entity, plain] : kEntities)
      if (text.starts_with(entity)) {
        used = entity.size();
        c = plain;
      }
    out += c;
    text.remove_prefix(used);
  }
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::vector<std::string_view> elements(std::string_view xml,
                                       std::string_view tag) {
  const std::string open = "<" + std::string(tag) + ">";
  const std::string close = "</" + std::string(tag) + ">";
  std::vector<std::string_view> found;
  for (std::size_t at = 0;;) {
    const std::size_t begin = xml.find(open, at);
    if (begin == std::string_view::npos) return found;
    const std::size_t end = xml.find(close, begin + open.size());
    if (end == std::string_view::npos) return found;
    found.push_back(xml.substr(begin + open.size(), end - begin - open.size()));
    at = end + close.size();
  }
}

std::string element_text(std::string_view xml, std::string_view tag) {
  const auto found = elements(xml, tag);
  return found.empty() ? "" : decode_entities(found.front());
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high =
        i + 2 < text.size() && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace titan::s3

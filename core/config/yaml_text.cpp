// SPDX-License-Identifier: BSD-3-Clause
// One pass over the bytes, counting lines and code points for the messages.
#include "core/config/yaml_text.h"

#include <algorithm>
#include <cstdint>

#include <titan/error.h>

namespace titan::config {
namespace {

// Length of the UTF-8 sequence at the front of `text`, or 0 if it is not one:
// overlong forms, surrogates and code points above U+10FFFF included.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool is_overlong =
      (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool is_surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool is_too_large = lead == 0xF4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

class Cleaner {
 public:
  Cleaner(std::string_view bytes, const std::string& name)
      : rest_(bytes), name_(name) {}

  std::string run() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    while (!rest_.empty()) step();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw UserError(text(name_, ':', line_, ':', column_, ": [yaml] ", what));
  }

  void step() {
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    const std::size_t length = sequence_length(rest_);
    if (length == 0) refuse("text is not UTF-8");
    const char c = rest_.front();
    if (c == '\t' && column_ == 1) return take_tabs();
    const auto code = static_cast<unsigned char>(c);
    if ((code < ' ' && c != '\n' && c != '\t') || code == 0x7F)
      refuse(
          text("text holds a control character: expected printable text, "
               "got byte ",
               static_cast<int>(code)));
    out_.append(rest_.substr(0, length));
    rest_.remove_prefix(length);
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }

  // Blank lines and comments may start with tabs, which yaml-cpp refuses;
  // a line that says something may not.
  void take_tabs() {
    const auto width = std::min(rest_.find_first_not_of(" \t"), rest_.size());
    const char next = width == rest_.size() ? '\n' : rest_[width];
    if (next != '\n' && next != '\r' && next != '#')
      refuse("tab in indentation: expected spaces");
    out_.append(width, ' ');
    column_ += static_cast<int>(width);
    rest_.remove_prefix(width);
  }

  std::string_view rest_;
  const std::string& name_;
  std::string out_;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace

std::string clean_yaml_text(std::string_view bytes,
                            const std::string& name,
                            std::size_t max_bytes) {
  TITAN_USER_CHECK(bytes.size() <= max_bytes,
                   name,
                   ":1:1: [yaml] file is too large: expected at most ",
                   max_bytes,
                   " bytes");
  return Cleaner(bytes, name).run();
}

}  // namespace titan::config

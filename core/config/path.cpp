// SPDX-License-Identifier: BSD-3-Clause
// A hand-written splitter: paths come from the command line.
#include "core/config/path.h"

#include <algorithm>
#include <cctype>

#include <titan/error.h>

#include "core/config/scalar.h"
#include "core/config/value.h"

namespace titan::config {
namespace {

// A longer index is no place in a list that fits the document limits.
constexpr std::size_t kMaxIndexDigits = 9;

[[noreturn]] void refuse(std::string_view path, std::string_view what) {
  throw UserError(text("[", path, "] ", what), 501);
}

bool ends_in_revision(const std::string& word) {
  const auto slash = word.rfind('/');
  return slash != std::string::npos && slash + 1 < word.size() &&
         std::all_of(word.begin() + static_cast<std::ptrdiff_t>(slash) + 1,
                     word.end(),
                     is_digit);
}

class PathReader {
 public:
  explicit PathReader(std::string_view path) : path_(path) {}

  std::vector<PathStep> read() {
    while (at_ < path_.size()) {
      if (path_[at_] == '[') {
        read_index();
      } else {
        if (at_ > 0) expect_dot();
        read_key();
      }
    }
    return std::move(steps_);
  }

 private:
  void expect_dot() {
    if (path_[at_] != '.')
      refuse(path_, "path has text after a step: expected '.' or '['");
    ++at_;
  }

  void read_index() {
    const auto end = path_.find(']', at_);
    const std::string digits(
        path_.substr(at_ + 1, end == path_.npos ? end : end - at_ - 1));
    if (end == path_.npos || digits.empty() ||
        digits.size() > kMaxIndexDigits ||
        !std::all_of(digits.begin(), digits.end(), is_digit))
      refuse(path_, "path has a bad list index: expected [0], [1], ...");
    steps_.push_back({"", std::stoll(digits)});
    at_ = end + 1;
  }

  void read_key() {
    if (at_ < path_.size() && path_[at_] == '"') return read_quoted();
    const auto end = std::min(path_.find_first_of(".[", at_), path_.size());
    std::string word(path_.substr(at_, end - at_));
    if (word.empty()) refuse(path_, "path has an empty step");
    at_ = end;
    if (ends_in_revision(word)) {
      while (steps_.size() > 1 && steps_.back().index < 0) {
        word = text(steps_.back().key, '.', word);
        steps_.pop_back();
      }
    }
    steps_.push_back({std::move(word), -1});
  }

  void read_quoted() {
    std::string key;
    for (++at_; at_ < path_.size() && path_[at_] != '"'; ++at_) {
      if (path_[at_] == '\\' && at_ + 1 < path_.size()) ++at_;
      key.push_back(path_[at_]);
    }
    if (at_ >= path_.size()) refuse(path_, "path has an unclosed quote");
    ++at_;
    steps_.push_back({std::move(key), -1});
  }

  std::string_view path_;
  std::size_t at_ = 0;
  std::vector<PathStep> steps_;
};

bool needs_quotes(std::string_view key) {
  return key.empty() || std::any_of(key.begin(), key.end(), [](char c) {
           return c == '.' || c == '[' || c == ']' || c == '"' || c == '\\' ||
                  c == '=' || static_cast<unsigned char>(c) <= ' ';
         });
}

}  // namespace

std::vector<PathStep> parse_path(std::string_view path) {
  return PathReader(path).read();
}

std::string join_path(std::string_view path, std::string_view key) {
  std::string out(path);
  if (!out.empty()) out.push_back('.');
  if (!needs_quotes(key)) return out.append(key);
  out.push_back('"');
  for (const char c : key) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

}  // namespace titan::config

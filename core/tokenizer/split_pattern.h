// SPDX-License-Identifier: BSD-3-Clause
// A compiled regular expression that cuts text into pieces, for the Split and
// ByteLevel pre-tokenizers. The only file pair that knows PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// Immutable; any thread may use it with its own Scratch.
class SplitPattern {
 public:
  /// What one thread needs while matching; reused from text to text.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class SplitPattern;
    struct State;
    std::unique_ptr<State> state_;
  };

  /// Compiles `pattern`, written for Oniguruma. UserError (tag `where`): it
  /// does not compile, may match nothing, or see oniguruma_to_pcre2.
  SplitPattern(std::string_view pattern, const std::string& where);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;

  /// Appends the pieces of `text` in order: every match and every gap between
  /// matches is one ("Isolated"). `text` must be well-formed UTF-8. UserError:
  /// the pattern needs more than the matcher's limits on this text.
  void append_pieces(std::string_view text,
                     Scratch& scratch,
                     std::vector<std::string_view>& pieces) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace titan

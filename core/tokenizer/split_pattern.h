// SPDX-License-Identifier: BSD-3-Clause
// A compiled regular expression that cuts text into pieces, for the Split and
// ByteLevel pre-tokenizers. The only file pair that knows PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// A stretch of a text that a pattern matched, or a gap between matches.
struct MatchSpan {
  size_t begin;
  size_t end;
  bool is_match;
};

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
  /// The same for a pattern that is PCRE2's already.
  static SplitPattern from_pcre2(const std::string& pattern,
                                 const std::string& where);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;

  /// Appends the pieces of `text` in order: every match and every gap between
  /// matches is one ("Isolated"). `text` must be well-formed UTF-8. UserError:
  /// the pattern needs more than the matcher's limits on this text.
  void append_pieces(std::string_view text,
                     Scratch& scratch,
                     std::vector<std::string_view>& pieces) const;

  /// The same as spans that cover the text; none is empty.
  void append_matches(std::string_view text,
                      Scratch& scratch,
                      std::vector<MatchSpan>& spans) const;

 private:
  SplitPattern();
  void compile(const std::string& pattern, const std::string& where);
  template <typename Emit>
  void for_each_span(std::string_view text, Scratch& scratch, Emit emit) const;

  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace titan

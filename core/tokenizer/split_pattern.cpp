// SPDX-License-Identifier: BSD-3-Clause
// PCRE2 with its JIT.
// Where the system forbids executable memory, pcre2_jit_compile says
// so and pcre2_match interprets, with the same results.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/tokenizer/split_pattern.h"

#include <pcre2.h>

#include <titan/error.h>

#include "core/tokenizer/regex_dialect.h"

namespace titan {
namespace {

// The JIT's default stack is 32 KiB; a run of one million spaces needs more.
constexpr size_t kInitialStackBytes = size_t{32} << 10;
constexpr size_t kMaxStackBytes = size_t{64} << 20;

std::string pcre2_message(int code) {
  PCRE2_UCHAR buffer[256];
  const int length = pcre2_get_error_message(code, buffer, sizeof(buffer));
  if (length < 0) return text("PCRE2 error ", code);
  return std::string(reinterpret_cast<const char*>(buffer), length);
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct SplitPattern::Compiled {
  pcre2_code* code = nullptr;
  std::string where;
  ~Compiled() { pcre2_code_free(code); }
};

struct SplitPattern::Scratch::State {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = nullptr;

  ~State() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }

  int run(const pcre2_code* code, std::string_view text, size_t start) const {
    return pcre2_match(code,
                       units(text),
                       text.size(),
                       start,
                       PCRE2_NO_UTF_CHECK,
                       match,
                       context);
  }

  // Most texts never need the large stack, so it is made on first demand.
  bool enlarge_stack() {
    if (stack) return false;
    stack = pcre2_jit_stack_create(kInitialStackBytes, kMaxStackBytes, nullptr);
    if (!stack) return false;
    pcre2_jit_stack_assign(context, nullptr, stack);
    return true;
  }
};

SplitPattern::Scratch::Scratch() : state_(std::make_unique<State>()) {}
SplitPattern::Scratch::~Scratch() = default;

SplitPattern::SplitPattern() : compiled_(std::make_unique<Compiled>()) {}

SplitPattern::SplitPattern(std::string_view pattern, const std::string& where)
    : SplitPattern() {
  compile(oniguruma_to_pcre2(pattern, where), where);
}

SplitPattern SplitPattern::from_pcre2(const std::string& pattern,
                                      const std::string& where) {
  SplitPattern made;
  made.compile(pattern, where);
  return made;
}

void SplitPattern::compile(const std::string& pattern,
                           const std::string& where) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)>
      context(pcre2_compile_context_create(nullptr),
              &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  // NEVER_BACKSLASH_C: \C could stop inside a character.
  compiled_->code =
      pcre2_compile(units(pattern),
                    pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                    &error,
                    &offset,
                    context.get());
  compiled_->where = where;
  TITAN_USER_CHECK(compiled_->code,
                   '[',
                   where,
                   "] regular expression does not compile: ",
                   pcre2_message(error),
                   " at offset ",
                   offset,
                   " of ",
                   pattern);
  uint32_t may_be_empty = 0;
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_MATCHEMPTY, &may_be_empty);
  TITAN_USER_CHECK(!may_be_empty,
                   '[',
                   where,
                   "] regular expression is not supported: it can match the "
                   "empty text: ",
                   pattern);
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);
}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;

template <typename Emit>
void SplitPattern::for_each_span(std::string_view text,
                                 Scratch& scratch,
                                 Emit emit) const {
  Scratch::State& state = *scratch.state_;
  const PCRE2_SIZE* span = pcre2_get_ovector_pointer(state.match);
  size_t done = 0;
  while (done < text.size()) {
    int found = state.run(compiled_->code, text, done);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT && state.enlarge_stack())
      found = state.run(compiled_->code, text, done);
    if (found == PCRE2_ERROR_NOMATCH) break;
    TITAN_USER_CHECK(found >= 0,
                     '[',
                     compiled_->where,
                     "] regular expression gave up: ",
                     pcre2_message(found),
                     " at byte ",
                     done,
                     " of a text of ",
                     text.size());
    // Empty only through \K, which the dialect refuses.
    TITAN_CHECK(span[1] > span[0] && span[0] >= done, "[split] empty match");
    if (span[0] > done) emit(done, span[0], false);
    emit(span[0], span[1], true);
    done = span[1];
  }
  if (done < text.size()) emit(done, text.size(), false);
}

void SplitPattern::append_pieces(std::string_view text,
                                 Scratch& scratch,
                                 std::vector<std::string_view>& pieces) const {
  for_each_span(text, scratch, [&](size_t begin, size_t end, bool) {
    pieces.push_back(text.substr(begin, end - begin));
  });
}

void SplitPattern::append_matches(std::string_view text,
                                  Scratch& scratch,
                                  std::vector<MatchSpan>& spans) const {
  for_each_span(text, scratch, [&](size_t begin, size_t end, bool is_match) {
    spans.push_back({begin, end, is_match});
  });
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// A conversation as a sample: rendered by the model's chat template, tokenised
// as a whole, with what the assistant says as targets. docs/chat.md has the
// rules with an example.
//
// Targets. Where the template has {% generation %} blocks, what they write.
// Else, for each message of the assistant, from the end of the prompt (the
// conversation before it, with add_generation_prompt) to the end of the
// conversation with it; white space behind the end-of-turn token is not one.
// That needs a template in which a longer conversation only adds text: one that
// rewrites what was before is an error that says so.
// A token is a target if one byte of it is; where a token also has bytes of the
// prompt or of what follows, it is counted (num_cut_tokens).
#pragma once

#include <ctime>
#include <optional>
#include <string>

#include "core/chat/template_folder.h"
#include "core/data/chat_record.h"
#include "core/data/sample.h"
#include "core/tokenizer/tokenizer.h"

namespace titan {

/// Which messages of the assistant are learnt.
enum class LossOn { kAssistant, kLast };

/// What happens to a sample longer than max_tokens.
enum class Truncation {
  kKeepStart,  ///< Its first tokens.
  kKeepEnd,    ///< Its last tokens.
  kDrop,       ///< Nothing: it is left out.
  kNone,       ///< It stays.
};

/// UserError for a name that is none of assistant, last.
LossOn parse_loss_on(const std::string& name);
/// UserError for a name that is none of keep_start, keep_end, drop, none.
Truncation parse_truncation(const std::string& name);

struct ChatSampleOptions {
  LossOn loss_on = LossOn::kAssistant;
  Truncation truncation = Truncation::kNone;
  int64_t max_tokens = 0;  ///< Of a sample; unless kNone.
  /// Around plain texts (prompt and completion); templates write their own.
  bool add_bos = false;
  bool add_eos = false;
  /// What strftime_now tells; absent: see RenderOptions.
  std::optional<std::tm> date;
};

/// What became of the dialogues. Added up by the caller.
struct ChatCounts {
  int64_t num_dialogues = 0;
  int64_t num_truncated = 0;
  int64_t num_too_long = 0;        ///< Left out by kDrop.
  int64_t num_without_target = 0;  ///< Left out: nothing to learn.
  int64_t num_tokens = 0;          ///< Of what is left.
  int64_t num_targets = 0;         ///< Of these.
  int64_t num_cut_tokens = 0;      ///< Targets only in part the assistant's.

  ChatCounts& operator+=(const ChatCounts& other);
};

/// Rendered text and which bytes of it are learnt.
struct MaskedText {
  std::string text;
  std::vector<chat::TextRange> targets;  ///< Ascending.
  bool is_rendered = false;  ///< By a template, which has its own BOS and EOS.
};

/// Two answers to one prompt. Both begin with the same `num_shared` ids, none
/// of which is a target.
struct PreferenceSample {
  Sample chosen;
  Sample rejected;
  int64_t num_shared = 0;
};

/// Pure functions of a dialogue; any thread may call.
class ChatSampler {
 public:
  /// `tokenizer` must outlive this. `templates` may be empty: then only plain
  /// texts can be taken.
  ChatSampler(const Tokenizer& tokenizer,
              chat::ChatTemplates templates,
              const ChatSampleOptions& options);

  /// Throws BadRecord: the template refuses or rewrites the conversation.
  MaskedText render(const Dialogue& dialogue) const;

  /// Nothing where the dialogue is left out; `counts` says why. BadRecord.
  std::optional<Sample> sample(const Dialogue& dialogue,
                               ChatCounts& counts) const;

  /// The same for two answers. kKeepEnd takes the same number of tokens off the
  /// start of both, and leaves the pair out where the prompt is shorter.
  std::optional<PreferenceSample> sample(const Preference& preference,
                                         ChatCounts& counts) const;

 private:
  MaskedText render(const Conversation& conversation) const;
  MaskedText render(const Completion& completion) const;
  std::string render_messages(const chat::ChatTemplate& chat_template,
                              const Conversation& conversation,
                              size_t num_messages,
                              bool add_generation_prompt) const;
  std::vector<chat::TextRange> find_answers(
      const chat::ChatTemplate& chat_template,
      const Conversation& conversation,
      const std::vector<size_t>& answers,
      const std::string& text) const;
  chat::RenderedChat render_all(const chat::ChatTemplate& chat_template,
                                const Conversation& conversation) const;
  Sample tokenize(const MaskedText& masked, ChatCounts& counts) const;
  bool truncate(Sample& sample, ChatCounts& counts) const;

  const Tokenizer& tokenizer_;
  chat::ChatTemplates templates_;
  ChatSampleOptions options_;
  chat::Dict special_tokens_;
};

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// A line of JSON as a conversation, a prompt with its completion, or a prompt
// with two answers. Forms that are understood:
//
//   {"messages": [{"role", "content", ...}, ...]}                  OpenAI
//   {"conversations": [{"from", "value"}, ...], "system": ...}     ShareGPT
//   {"prompt": x, "completion": y}
//   {"prompt": x, "chosen": y, "rejected": z}     x may be missing: what y and
//                                                 z begin with is the prompt
// x, y and z are texts, or lists of messages. Beside them: "tools" (a list, or
// its JSON as a text), "documents", "chat_template_kwargs" (an object). An
// assistant's message with "weight": 0 is not learnt.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/chat/value.h"

namespace titan {

/// Messages, of which those from `num_prompt` on are learnt from.
struct Conversation {
  chat::List messages;
  size_t num_prompt = 0;
  chat::Value tools;
  chat::Value documents;
  chat::Dict variables;
};

/// Plain texts, without template.
struct Completion {
  std::string prompt;
  std::string completion;
};

/// What is learnt from as one sequence.
using Dialogue = std::variant<Conversation, Completion>;

/// Two answers to the same prompt.
struct Preference {
  Dialogue chosen;
  Dialogue rejected;
};

/// Throws BadRecord: not JSON, or none of the forms.
Dialogue parse_dialogue(std::string_view json);
Preference parse_preference(std::string_view json);

}  // namespace titan

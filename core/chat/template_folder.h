// SPDX-License-Identifier: BSD-3-Clause
// Where a model's chat template is: beside its tokenizer, in one of the places
// that transformers looks in.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/chat/chat_template.h"

namespace titan {
struct SpecialTokens;
}

namespace titan::chat {

/// The templates of one tokenizer by name; most have "default" alone.
class ChatTemplates {
 public:
  explicit ChatTemplates(std::map<std::string, ChatTemplate> by_name)
      : by_name_(std::move(by_name)) {}

  const std::map<std::string, ChatTemplate>& by_name() const {
    return by_name_;
  }
  /// The template that transformers takes: "tool_use" where there are tools and
  /// it is there, else "default". UserError: there is none.
  const ChatTemplate& select(bool has_tools) const;
  /// UserError names those that are there.
  const ChatTemplate& named(const std::string& name) const;

 private:
  std::map<std::string, ChatTemplate> by_name_;
};

/// Reads `folder`'s templates; empty where it has none. The first of these that
/// is there: chat_template.jinja (with additional_chat_templates/NAME.jinja),
/// chat_template.json, "chat_template" of tokenizer_config.json (a string, or a
/// list of {name, template}). UserError: malformed, or not a template.
ChatTemplates load_chat_templates(const std::filesystem::path& folder);

/// Reads one template from a file of its own. UserError.
ChatTemplates load_chat_template_file(const std::filesystem::path& file);

/// Adds bos_token, eos_token, ... as far as they are there.
void add_special_tokens(const SpecialTokens& special, Dict& variables);

}  // namespace titan::chat

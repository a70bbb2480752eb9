// SPDX-License-Identifier: BSD-3-Clause
// Chat templates: the Jinja programs that published models bring along to turn
// messages into the text they were trained on. Renders what transformers'
// apply_chat_template does, byte for byte, or stops with file:line:column.
// docs/chat.md lists what is known.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/chat/budget.h"
#include "core/chat/value.h"

namespace titan::chat {

/// What a template sees, under the names that transformers uses.
struct ChatInput {
  Value messages;   ///< A list of dicts with role and content.
  Value tools;      ///< A list of JSON schemas, or none.
  Value documents;  ///< A list, or none.
  bool add_generation_prompt = false;
  /// Further variables: bos_token and the like, enable_thinking, ... They
  /// cannot replace those above.
  Dict variables;
};

struct RenderOptions {
  /// What strftime_now tells. Absent: the function is not there; templates
  /// that do not ask whether it is stop.
  std::optional<std::tm> now;
  RenderLimits limits;
};

/// Bytes [begin, end) of a text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const TextRange&) const = default;
};

struct RenderedChat {
  std::string text;
  /// What {% generation %} blocks wrote, ascending, not overlapping.
  std::vector<TextRange> generated;
  /// A {% generation %} block ran where text is kept for later (in a macro or a
  /// {% set %} block), so its place in `text` is not known.
  bool has_lost_generation = false;
};

struct ParsedTemplate;

/// Immutable: render may be called from any thread.
class ChatTemplate {
 public:
  /// UserError "[name:line:column] ...": not a template, or it uses a tag,
  /// filter or test that is not known. `name` is for messages.
  ChatTemplate(const std::string& source, std::string name);

  /// UserError: the template stops (raise_exception among the reasons), or a
  /// limit is passed.
  RenderedChat render(const ChatInput& input,
                      const RenderOptions& options = {}) const;

  /// Whether the template has a {% generation %} block.
  bool has_generation() const;
  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }

 private:
  std::string name_;
  std::string source_;
  std::shared_ptr<const ParsedTemplate> parsed_;
};

}  // namespace titan::chat

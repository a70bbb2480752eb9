// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/chat_template.h"

#include <titan/error.h>

#include "core/chat/interpreter.h"
#include "core/chat/parser.h"
#include "core/chat/problem.h"
#include "core/tokenizer/utf8.h"

namespace titan::chat {
namespace {

// Published templates have at most 20 KB.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;

UserError located(const std::string& name,
                  Position at,
                  const Problem& problem) {
  return UserError(
      text('[', name, ':', at.line, ':', at.column, "] ", problem.what()));
}

}  // namespace

ChatTemplate::ChatTemplate(const std::string& source, std::string name)
    : name_(std::move(name)), source_(source) {
  TITAN_USER_CHECK(source.size() <= kMaxSourceBytes,
                   '[',
                   name_,
                   "] chat template: expected at most ",
                   kMaxSourceBytes,
                   " bytes, got ",
                   source.size());
  const std::optional<size_t> bad = find_invalid_utf8(source);
  TITAN_USER_CHECK(!bad,
                   '[',
                   name_,
                   "] chat template is not UTF-8: ill-formed byte at offset ",
                   bad.value_or(0));
  try {
    parsed_ = std::make_shared<const ParsedTemplate>(parse_template(source));
  } catch (const SyntaxProblem& problem) {
    throw located(name_, problem.position, problem);
  }
}

bool ChatTemplate::has_generation() const {
  return parsed_->has_generation;
}

RenderedChat ChatTemplate::render(const ChatInput& input,
                                  const RenderOptions& options) const {
  Dict variables = input.variables;
  variables.set("messages", input.messages);
  variables.set("tools", input.tools);
  variables.set("documents", input.documents);
  variables.set("add_generation_prompt", input.add_generation_prompt);
  Interpreter interpreter(variables, options);
  try {
    return interpreter.run(*parsed_);
  } catch (const Problem& problem) {
    throw located(name_, interpreter.position(), problem);
  }
}

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
// Chat templates: any text is a template or an error, and what it does with a
// conversation ends within small limits.
#include <cstddef>
#include <cstdint>
#include <string>

#include <titan/error.h>

#include "core/chat/chat_template.h"
#include "core/chat/value_json.h"

namespace {

titan::chat::ChatInput conversation() {
  titan::chat::ChatInput input;
  input.messages = titan::chat::parse_json(
      "fuzz",
      R"([{"role": "system", "content": "Be \u00e9xact."},
      {"role": "user", "content": " 2 + 2?\n"},
      {"role": "assistant", "content": "4", "tool_calls": [
        {"function": {"name": "f", "arguments": {"x": [1, 2.5, null]}}}]}])");
  input.tools = titan::chat::parse_json("fuzz", R"([{"name": "f"}])");
  input.variables.set("bos_token", "<s>");
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const titan::chat::ChatInput kInput = conversation();
  titan::chat::RenderOptions options;
  options.now = std::tm{};
  options.limits.max_steps = 20'000;
  options.limits.max_output_bytes = 1 << 18;
  options.limits.max_work_bytes = 1 << 22;
  try {
    const std::string source(reinterpret_cast<const char*>(data), size);
    titan::chat::ChatTemplate(source, "fuzz").render(kInput, options);
  } catch (const titan::UserError&) {
    // What is not a template is refused.
  }
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/chat_record.h"

#include <algorithm>

#include "core/chat/problem.h"
#include "core/chat/value_json.h"
#include "core/data/record.h"

namespace titan {
namespace {

using chat::Dict;
using chat::List;
using chat::Value;

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw BadRecord(text(parts...));
}

// Names that ShareGPT data gives to the sides.
std::string_view role_of(std::string_view from) {
  constexpr std::pair<std::string_view, std::string_view> kRoles[] = {
      {"human", "user"},
      {"user", "user"},
      {"gpt", "assistant"},
      {"assistant", "assistant"},
      {"model", "assistant"},
      {"chatgpt", "assistant"},
      {"bing", "assistant"},
      {"system", "system"},
      {"tool", "tool"},
      {"function", "tool"},
      {"observation", "tool"},
      {"function_response", "tool"}};
  for (const auto& [name, role] : kRoles)
    if (name == from) return role;
  fail("conversations: \"from\" is of no known side: ", from);
}

const Value& require(const Dict& dict, std::string_view key) {
  const Value* value = dict.find_name(key);
  if (!value) fail("no field \"", key, '"');
  return *value;
}

const std::string& require_text(const Dict& dict, std::string_view key) {
  const Value& value = require(dict, key);
  if (!value.is_string())
    fail("field \"", key, "\": expected a text, got a ", value.type_name());
  return value.string();
}

void check_messages(const List& messages, std::string_view field) {
  if (messages.empty()) fail("field \"", field, "\": no messages");
  for (const Value& message : messages) {
    if (!message.is_mapping())
      fail("field \"",
           field,
           "\": expected messages, got a ",
           message.type_name());
    require_text(message.dict(), "role");
  }
}

const List& require_messages(const Value& value, std::string_view field) {
  if (!value.is_sequence())
    fail("field \"",
         field,
         "\": expected a list of messages, got a ",
         value.type_name());
  check_messages(value.items(), field);
  return value.items();
}

Value message(std::string_view role, const std::string& content) {
  Dict dict;
  dict.set("role", role);
  dict.set("content", content);
  return dict;
}

List read_sharegpt(const Dict& record, const Value& entries) {
  if (!entries.is_sequence())
    fail("field \"conversations\": expected a list, got a ",
         entries.type_name());
  List messages;
  const Value* system = record.find_name("system");
  if (system && system->is_string() && !system->string().empty())
    messages.push_back(message("system", system->string()));
  for (const Value& entry : entries.items()) {
    if (!entry.is_mapping()) fail("field \"conversations\": expected objects");
    if (entry.dict().find_name("role"))
      messages.push_back(entry);
    else
      messages.push_back(message(role_of(require_text(entry.dict(), "from")),
                                 require_text(entry.dict(), "value")));
  }
  check_messages(messages, "conversations");
  return messages;
}

// Everything of the record that is not its messages.
Conversation read_surroundings(const Dict& record) {
  Conversation conversation;
  if (const Value* tools = record.find_name("tools")) {
    conversation.tools = tools->is_string() && !tools->string().empty()
                             ? chat::parse_json("tools", tools->string())
                             : *tools;
    if (!conversation.tools.is_true()) conversation.tools = {};
    if (!conversation.tools.is_none() && !conversation.tools.is_sequence())
      fail("field \"tools\": expected a list, got a ",
           conversation.tools.type_name());
  }
  if (const Value* documents = record.find_name("documents"))
    conversation.documents = *documents;
  if (const Value* more = record.find_name("chat_template_kwargs")) {
    if (!more->is_mapping())
      fail("field \"chat_template_kwargs\": expected an object");
    conversation.variables = more->dict();
  }
  return conversation;
}

Conversation join(const Dict& record, List prompt, const List& rest) {
  Conversation conversation = read_surroundings(record);
  conversation.num_prompt = prompt.size();
  conversation.messages = std::move(prompt);
  conversation.messages.insert(
      conversation.messages.end(), rest.begin(), rest.end());
  return conversation;
}

// Prompt and answer, both texts or both messages.
Dialogue read_answer(const Dict& record, std::string_view field) {
  const Value& prompt = require(record, "prompt");
  const Value& answer = require(record, field);
  if (prompt.is_string() && answer.is_string())
    return Completion{prompt.string(), answer.string()};
  const List before = prompt.is_string()
                          ? List{message("user", prompt.string())}
                          : require_messages(prompt, "prompt");
  const List after = answer.is_string()
                         ? List{message("assistant", answer.string())}
                         : require_messages(answer, field);
  return join(record, before, after);
}

Dialogue read_dialogue(const Dict& record) {
  if (const Value* messages = record.find_name("messages"))
    return join(record, {}, require_messages(*messages, "messages"));
  if (const Value* entries = record.find_name("conversations"))
    return join(record, {}, read_sharegpt(record, *entries));
  if (record.find_name("completion")) return read_answer(record, "completion");
  fail(
      "expected one of the fields messages, conversations, or prompt with "
      "completion");
}

Preference read_preference(const Dict& record) {
  if (record.find_name("prompt"))
    return {read_answer(record, "chosen"), read_answer(record, "rejected")};
  const List& chosen = require_messages(require(record, "chosen"), "chosen");
  const List& rejected =
      require_messages(require(record, "rejected"), "rejected");
  const auto [split, unused] = std::mismatch(chosen.begin(),
                                             chosen.end(),
                                             rejected.begin(),
                                             rejected.end(),
                                             chat::is_equal);
  const auto num_prompt = static_cast<size_t>(split - chosen.begin());
  if (num_prompt == 0) fail("chosen and rejected begin with no common prompt");
  if (num_prompt == chosen.size() || num_prompt == rejected.size())
    fail("chosen and rejected do not differ in their answers");
  const List prompt(chosen.begin(), split);
  return {join(record, prompt, List(split, chosen.end())),
          join(record,
               prompt,
               List(rejected.begin() + static_cast<int64_t>(num_prompt),
                    rejected.end()))};
}

template <typename Result>
Result parse(std::string_view json, Result (*read)(const Dict&)) {
  try {
    const Value record = chat::parse_json("record", json);
    if (!record.is_mapping())
      fail("expected an object, got a ", record.type_name());
    return read(record.dict());
  } catch (const BadRecord&) {
    throw;
  } catch (const UserError& error) {
    throw BadRecord(error.what());
  } catch (const chat::Problem& problem) {
    throw BadRecord(problem.what());
  }
}

}  // namespace

Dialogue parse_dialogue(std::string_view json) {
  return parse<Dialogue>(json, read_dialogue);
}

Preference parse_preference(std::string_view json) {
  return parse<Preference>(json, read_preference);
}

}  // namespace titan

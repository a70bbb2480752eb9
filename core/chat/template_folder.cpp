// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/template_folder.h"

#include <fstream>
#include <iterator>
#include <optional>

#include <titan/error.h>

#include "core/chat/value_json.h"
#include "core/tokenizer/special_tokens.h"

namespace titan::chat {
namespace {

namespace fs = std::filesystem;
using ByName = std::map<std::string, ChatTemplate>;

constexpr const char* kDefault = "default";
constexpr const char* kToolUse = "tool_use";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, "[chat] file cannot be read: ", path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void add(ByName& by_name,
         const std::string& name,
         const std::string& source,
         const std::string& location) {
  const bool is_new =
      by_name.emplace(name, ChatTemplate(source, location)).second;
  TITAN_USER_CHECK(is_new,
                   '[',
                   location,
                   "] chat_template: the name \"",
                   name,
                   "\" is there twice");
}

const std::string& text_of(const Dict& entry,
                           std::string_view key,
                           const std::string& location) {
  const Value* value = entry.find_name(key);
  TITAN_USER_CHECK(value && value->is_string(),
                   '[',
                   location,
                   "] chat_template: expected {name, template} with texts, "
                   "got no text \"",
                   key,
                   '"');
  return value->string();
}

// "chat_template" of a JSON file: a string, a list, or not there.
ByName read_json_templates(const fs::path& path) {
  ByName by_name;
  if (!fs::exists(path)) return by_name;
  const std::string location = path.string();
  const Value json = parse_json(location, read_file(path));
  TITAN_USER_CHECK(
      json.is_mapping(), '[', location, "] expected a JSON object");
  const Value* found = json.dict().find_name("chat_template");
  if (!found || found->is_none()) return by_name;
  if (found->is_string()) {
    add(by_name, kDefault, found->string(), location + ": chat_template");
    return by_name;
  }
  TITAN_USER_CHECK(found->is_sequence(),
                   '[',
                   location,
                   "] chat_template: expected a text or a list, got a ",
                   found->type_name());
  for (const Value& entry : found->items()) {
    TITAN_USER_CHECK(entry.is_mapping(),
                     '[',
                     location,
                     "] chat_template: expected {name, template}");
    const std::string& name = text_of(entry.dict(), "name", location);
    add(by_name,
        name,
        text_of(entry.dict(), "template", location),
        text(location, ": chat_template ", name));
  }
  return by_name;
}

ByName read_jinja_files(const fs::path& folder) {
  ByName by_name;
  const fs::path main_file = folder / "chat_template.jinja";
  if (fs::exists(main_file))
    add(by_name, kDefault, read_file(main_file), main_file.string());
  const fs::path more = folder / "additional_chat_templates";
  if (!fs::is_directory(more)) return by_name;
  for (const auto& entry : fs::directory_iterator(more))
    if (entry.path().extension() == ".jinja")
      add(by_name,
          entry.path().stem().string(),
          read_file(entry.path()),
          entry.path().string());
  return by_name;
}

}  // namespace

const ChatTemplate& ChatTemplates::named(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  std::string known;
  for (const auto& [other, unused] : by_name_)
    known += (known.empty() ? "" : ", ") + other;
  throw UserError(text("[chat] there is no chat template \"",
                       name,
                       "\": expected ",
                       known.empty() ? "a folder with one" : known,
                       ". Give one of your own"));
}

const ChatTemplate& ChatTemplates::select(bool has_tools) const {
  if (has_tools && by_name_.contains(kToolUse)) return named(kToolUse);
  return named(kDefault);
}

ChatTemplates load_chat_templates(const fs::path& folder) {
  ByName by_name = read_jinja_files(folder);
  if (by_name.empty())
    by_name = read_json_templates(folder / "chat_template.json");
  if (by_name.empty())
    by_name = read_json_templates(folder / "tokenizer_config.json");
  return ChatTemplates(std::move(by_name));
}

ChatTemplates load_chat_template_file(const fs::path& file) {
  ByName by_name;
  add(by_name, kDefault, read_file(file), file.string());
  return ChatTemplates(std::move(by_name));
}

void add_special_tokens(const SpecialTokens& special, Dict& variables) {
  const auto add_role = [&](const char* name,
                            const std::optional<SpecialToken>& token) {
    if (token) variables.set(name, token->content);
  };
  add_role("bos_token", special.bos);
  add_role("eos_token", special.eos);
  add_role("unk_token", special.unk);
  add_role("sep_token", special.sep);
  add_role("pad_token", special.pad);
  add_role("cls_token", special.cls);
  add_role("mask_token", special.mask);
  if (special.additional.empty()) return;
  List more;
  for (const SpecialToken& token : special.additional)
    more.push_back(token.content);
  variables.set("additional_special_tokens", Value::list(std::move(more)));
}

}  // namespace titan::chat

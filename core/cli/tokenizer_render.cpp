// SPDX-License-Identifier: BSD-3-Clause
// `titan tokenizer render`: a conversation as the text that a model sees, and
// which of its tokens training learns.
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/chat/value_json.h"
#include "core/cli/commands.h"
#include "core/data/chat_sample.h"
#include "core/data/token_places.h"
#include "core/tokenizer/utf8.h"

namespace titan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct RenderCommand {
  std::string tokenizer;
  std::string file;
  std::string template_file;
  std::string loss_on = "assistant";
  bool add_generation_prompt = false;
  bool has_mask = false;
  bool is_json = false;
};

std::string read_all(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, "[tokenizer render] file cannot be read: ", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A conversation, or (as servers get them) its list of messages alone.
Conversation read_conversation(const std::string& path) {
  std::string json = read_all(path);
  if (chat::parse_json(path, json).is_sequence())
    json = text("{\"messages\": ", json, '}');
  Dialogue dialogue = parse_dialogue(json);
  auto* conversation = std::get_if<Conversation>(&dialogue);
  TITAN_USER_CHECK(
      conversation, '[', path, "] expected messages, got plain texts");
  return std::move(*conversation);
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

chat::ChatTemplates load_templates(const RenderCommand& command) {
  return command.template_file.empty()
             ? chat::load_chat_templates(command.tokenizer)
             : chat::load_chat_template_file(command.template_file);
}

void print_text(const RenderCommand& command, const Tokenizer& tokenizer) {
  const Conversation conversation = read_conversation(command.file);
  chat::ChatInput input{chat::Value::list(conversation.messages),
                        conversation.tools,
                        conversation.documents,
                        command.add_generation_prompt,
                        {}};
  chat::add_special_tokens(tokenizer.special_tokens(), input.variables);
  for (const auto& [key, value] : conversation.variables.entries())
    input.variables.set(key, value);
  const std::string rendered = load_templates(command)
                                   .select(conversation.tools.is_true())
                                   .render(input, {local_time(), {}})
                                   .text;
  if (command.is_json)
    std::cout << OrderedJson{{"text", rendered},
                             {"ids", tokenizer.encode(rendered, false, false)}}
              << '\n';
  else
    std::cout << rendered;
}

// A line for each token: id, whether it is learnt, its text.
void print_mask(const RenderCommand& command, const Tokenizer& tokenizer) {
  ChatSampleOptions options;
  options.loss_on = parse_loss_on(command.loss_on);
  options.date = local_time();
  const ChatSampler sampler(tokenizer, load_templates(command), options);
  ChatCounts counts;
  const Dialogue dialogue = read_conversation(command.file);
  const std::optional<Sample> sample = sampler.sample(dialogue, counts);
  TITAN_USER_CHECK(sample,
                   "[tokenizer render] nothing to learn: expected a message "
                   "of the assistant in ",
                   command.file);
  if (command.is_json) {
    std::cout << OrderedJson{{"ids", sample->ids},
                             {"is_target", sample->is_target}}
              << '\n';
    return;
  }
  for (size_t t = 0; t < sample->ids.size(); ++t)
    std::cout << sample->ids[t] << (sample->is_target[t] ? " * " : "   ")
              << OrderedJson(
                     to_valid_utf8(tokenizer.decode({&sample->ids[t], 1})))
              << '\n';
  std::cout << text(
      counts.num_targets, " of ", counts.num_tokens, " tokens are learnt\n");
}

}  // namespace

void add_tokenizer_render(Command& tokenizer, int& exit_code) {
  Command* render = tokenizer.add_subcommand(
      "render", "Prints a conversation as the chat template writes it");
  const auto command = std::make_shared<RenderCommand>();
  render
      ->add_option("tokenizer",
                   command->tokenizer,
                   "Folder with tokenizer.json and its chat template")
      ->required();
  render
      ->add_option("--messages",
                   command->file,
                   "JSON: a list of messages, or an object with messages, "
                   "tools, ... (-: stdin)")
      ->required();
  render->add_option("--template",
                     command->template_file,
                     "Chat template of your own, in place of the folder's");
  render->add_flag("--add-generation-prompt",
                   command->add_generation_prompt,
                   "End where the assistant's answer begins");
  Option* mask = render->add_flag(
      "--mask", command->has_mask, "Print the tokens, * at those learnt");
  render->add_option("--loss-on", command->loss_on, "assistant or last")
      ->needs(mask);
  render->add_flag("--json", command->is_json, "Print one JSON object");
  render->footer(
      "Example: titan tokenizer render model --messages chat.json --mask");
  render->callback([command, &exit_code] {
    const auto loaded = load_tokenizer(command->tokenizer);
    if (command->has_mask)
      print_mask(*command, *loaded);
    else
      print_text(*command, *loaded);
    exit_code = 0;
  });
}

}  // namespace titan::cli

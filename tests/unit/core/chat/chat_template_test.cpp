// SPDX-License-Identifier: BSD-3-Clause
// Renderings beside those of jinja2 (tests/golden/chat), and faults with their
// places.
#include "core/chat/chat_template.h"

#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/chat/value_json.h"

namespace titan::chat {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = TITAN_SOURCE_DIR "/tests/golden/chat/";

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json read_json(const std::string& name) {
  return Json::parse(read_file(kFolder + name));
}

Value value_of(const Json& json) {
  return parse_json("test", json.dump());
}

// The time that make_rendered.py tells templates.
std::tm recorded_time() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 6;
  time.tm_mday = 26;
  time.tm_hour = 13;
  time.tm_min = 5;
  time.tm_sec = 9;
  time.tm_wday = 5;
  return time;
}

ChatInput input_of(const Json& json) {
  ChatInput input;
  if (json.contains("messages")) input.messages = value_of(json["messages"]);
  if (json.contains("tools")) input.tools = value_of(json["tools"]);
  if (json.contains("documents")) input.documents = value_of(json["documents"]);
  input.add_generation_prompt = json.value("add_generation_prompt", false);
  if (json.contains("variables"))
    input.variables = value_of(json["variables"]).dict();
  return input;
}

// As make_rendered.py writes outcomes.
Json outcome(const std::string& source, const ChatInput& input) {
  RenderOptions options;
  options.now = recorded_time();
  try {
    const RenderedChat chat = ChatTemplate(source, "t").render(input, options);
    Json json{{"text", chat.text}};
    for (const TextRange& range : chat.generated)
      json["generated"].push_back({range.begin, range.end});
    return json;
  } catch (const UserError&) {
    return {{"error", true}};
  }
}

std::string render(const std::string& source, const std::string& messages) {
  ChatInput input;
  input.messages = parse_json("test", messages);
  return ChatTemplate(source, "t.jinja").render(input).text;
}

std::string problem_of(const std::string& source) {
  try {
    render(source, "[]");
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("templates of model families render as jinja2 renders them") {
  const Json conversations = read_json("conversations.json");
  const Json expected = read_json("rendered.json");
  REQUIRE(expected.size() >= 11);
  for (const auto& [name, cases] : expected.items()) {
    const std::string source = read_file(kFolder + "templates/" + name);
    for (const auto& [title, outcome_of_jinja] : cases.items()) {
      INFO(name << ": " << title);
      Json conversation = conversations.at(title);
      Json& variables = conversation["variables"];
      for (const auto& [token, text] : {std::pair("bos_token", "<s>"),
                                        std::pair("eos_token", "</s>"),
                                        std::pair("pad_token", "<pad>"),
                                        std::pair("unk_token", "<unk>")})
        if (!variables.contains(token)) variables[token] = text;
      CHECK(outcome(source, input_of(conversation)) == outcome_of_jinja);
    }
  }
}

TEST_CASE("random templates, and those found wrong, render as in jinja2") {
  const Json snippets = read_json("snippets.json");
  const ChatInput input = input_of(snippets);
  REQUIRE(snippets["cases"].size() >= 400);
  size_t num_refused = 0;
  for (Json expected : snippets["cases"]) {
    const std::string source = expected["template"];
    expected.erase("template");
    INFO(source);
    const Json ours = outcome(source, input);
    // A few ask for what docs/chat.md says is refused.
    if (ours.contains("error") && !expected.contains("error"))
      ++num_refused;
    else
      CHECK(ours == expected);
  }
  CHECK(num_refused * 20 < snippets["cases"].size());
}

TEST_CASE("a fault in a template is named with file, line and column") {
  CHECK(problem_of("a\n{{ 'x' | nope }}") ==
        "[t.jinja:2:10] there is no filter \"nope\"");
  CHECK(problem_of("{{ 1 is nope }}") ==
        "[t.jinja:1:9] there is no test \"nope\"");
  CHECK(problem_of("{% include 'x' %}") ==
        "[t.jinja:1:1] there is no tag \"include\" here");
  CHECK(problem_of("\n  {{ missing.name }}") ==
        "[t.jinja:2:14] 'missing' is undefined");
  CHECK(problem_of("{{ 'x'.swapcase() }}") ==
        "[t.jinja:1:8] the method 'swapcase' of a str is not supported");
  CHECK(problem_of("{{ [].append(1) }}") ==
        "[t.jinja:1:7] access to 'append' of a list is not allowed in "
        "templates");
  CHECK(problem_of("{% if true %}") ==
        "[t.jinja:1:14] the block has no end: expected endif");
  CHECK(problem_of("{{ raise_exception('Roles must alternate') }}") ==
        "[t.jinja:1:4] the template refuses this conversation: Roles must "
        "alternate");
  CHECK(problem_of("{{ 1 + 'a' }}") == "[t.jinja:1:6] there is no int + str");
  CHECK(problem_of("{{ 'abc ") == "[t.jinja:1:4] the string has no end");
  CHECK(problem_of("{{ (1 }}") == "[t.jinja:1:7] nothing is closed by \"}\"");
}

TEST_CASE("the date is the caller's, and without one there is none") {
  const std::string source =
      "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}"
      "{% else %}none{% endif %}";
  CHECK(render(source, "[]") == "none");
  RenderOptions options;
  options.now = recorded_time();
  CHECK(ChatTemplate(source, "t").render({}, options).text == "26 Jul 2024");
  CHECK(problem_of("{{ strftime_now('%Y') }}") ==
        "[t.jinja:1:4] 'strftime_now' is undefined");
}

TEST_CASE("a generation block inside kept text has no place and says so") {
  const ChatTemplate lost(
      "{% set x %}{% generation %}a{% endgeneration %}{% endset %}{{ x }}",
      "t");
  CHECK(lost.has_generation());
  const RenderedChat chat = lost.render({});
  CHECK(chat.text == "a");
  CHECK(chat.generated.empty());
  CHECK(chat.has_lost_generation);
}

TEST_CASE("variables of the caller do not replace the conversation") {
  ChatInput input;
  input.messages = parse_json("test", R"([{"role": "user"}])");
  input.variables.set("messages", "mine");
  input.variables.set("bos_token", "<s>");
  const ChatTemplate chat_template("{{ bos_token }}{{ messages|length }}", "t");
  CHECK(chat_template.render(input).text == "<s>1");
}

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/template_folder.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

#include <titan/error.h>

#include "core/tokenizer/special_tokens.h"

namespace titan::chat {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / text("titan_chat_", getpid())) {
    fs::create_directories(path_ / "additional_chat_templates");
  }
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name) << content;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string rendered(const ChatTemplate& chat_template) {
  return chat_template.render({}).text;
}

}  // namespace

TEST_CASE("a template is found in each place that transformers looks in") {
  const Folder folder;
  CHECK(load_chat_templates(folder.path()).by_name().empty());
  CHECK_THROWS_WITH(load_chat_templates(folder.path()).select(false),
                    Contains("there is no chat template \"default\""));

  folder.write("tokenizer_config.json", R"({"chat_template": "config"})");
  CHECK(rendered(load_chat_templates(folder.path()).select(true)) == "config");

  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "one"},
                   {"name": "tool_use", "template": "tools"}]})");
  const ChatTemplates several = load_chat_templates(folder.path());
  CHECK(rendered(several.select(false)) == "one");
  CHECK(rendered(several.select(true)) == "tools");
  CHECK_THROWS_WITH(several.named("rag"), Contains("default, tool_use"));

  folder.write("chat_template.json", R"({"chat_template": "json"})");
  CHECK(rendered(load_chat_templates(folder.path()).select(false)) == "json");

  folder.write("chat_template.jinja", "jinja\n");
  folder.write("additional_chat_templates/rag.jinja", "more");
  const ChatTemplates files = load_chat_templates(folder.path());
  CHECK(rendered(files.select(true)) == "jinja");
  CHECK(rendered(files.named("rag")) == "more");
}

TEST_CASE("templates that are none are named with their place") {
  const Folder folder;
  const std::string file = (folder.path() / "tokenizer_config.json").string();
  folder.write("tokenizer_config.json", R"({"chat_template": 1})");
  CHECK_THROWS_WITH(load_chat_templates(folder.path()),
                    Contains(file) && Contains("got a int"));
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "x"}]})");
  CHECK_THROWS_WITH(load_chat_templates(folder.path()),
                    Contains("no text \"template\""));
  folder.write("tokenizer_config.json", R"({"chat_template": "{% if %}"})");
  CHECK_THROWS_WITH(load_chat_templates(folder.path()),
                    Contains(file + ": chat_template:1:7]"));
  CHECK_THROWS_WITH(load_chat_template_file(folder.path() / "missing.jinja"),
                    Contains("cannot be read"));
}

TEST_CASE("templates see the special tokens that are there") {
  SpecialTokens special;
  special.bos = SpecialToken{"<s>", 1};
  special.additional = {SpecialToken{"<x>", 2}};
  Dict variables;
  add_special_tokens(special, variables);
  CHECK(variables.size() == 2);
  CHECK(variables.find_name("bos_token")->string() == "<s>");
  CHECK_FALSE(variables.find_name("eos_token"));
}

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
// No option without effect: the whole program is run with each key of the
// schema set to something else than its default.
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/cli/run_titan.h"
#include "core/config/recipe_schema.h"
#include "tests/cases/option_effect.h"
#include "tests/cases/small_run.h"
#include "tests/unit/core/observe/captured_log.h"

namespace titan::cases {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kOneSource =
    "data: {use: jsonl, files: [$DIR/documents.jsonl]}\n";
const std::string kRecipe = R"(
name: small
run_folder: $DIR/runs/${name}
model:
  use: titan.llama3
  config: {dim: 32, num_layers: 2, num_heads: 4, num_kv_heads: 2,
           hidden_dim: 48, vocab_size: 260, max_position: 64}
training: {steps: 4, seq_len: 16, tokens_per_microbatch: 32,
           tokens_per_step: 64, threads: 1}
optimizer: {use: titan.adamw, config: {lr: 1e-2}}
checkpoint: {enabled: true, interval: 2}
metrics: {peak_tflops: 1.0}
)" + kOneSource;

std::string replaced(std::string text_of,
                     const std::string& from,
                     const std::string& to) {
  for (auto at = text_of.find(from); at != std::string::npos;
       at = text_of.find(from, at + to.size()))
    text_of.replace(at, from.size(), to);
  return text_of;
}

std::string documents_with(const std::string& field, int count) {
  std::string out;
  std::istringstream lines(make_documents(count));
  for (std::string line; std::getline(lines, line);) {
    Json document = Json::parse(line);
    document[field] = "z" + document["text"].get<std::string>();
    out += document.dump() + '\n';
  }
  return out;
}

// Some of them longer than a row of 16.
std::string conversations(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    const std::string words(static_cast<size_t>(1 + i % 8), 'x');
    lines += text(R"({"messages": [{"role": "user", "content": "q"}, )",
                  R"({"role": "assistant", "content": ")",
                  words,
                  R"("}, {"role": "user", "content": "q"}, )",
                  R"({"role": "assistant", "content": "y"}]})",
                  '\n');
  }
  return lines;
}

void fill(const ScratchFolder& folder) {
  folder.write("documents.jsonl", documents_with("other", 100));
  folder.write("short.jsonl", make_documents(6));
  folder.write("broken.jsonl", make_documents(30) + "{\"text\": \n");
  std::string single;
  for (int i = 0; i < 64; ++i) single += "{\"text\": \"a\"}\n";
  folder.write("single.jsonl", single);
  folder.write("chat.jsonl", conversations(40));
  const std::string chat_template =
      "{% if strftime_now is defined %}{{ strftime_now('%d') }}{% endif %}"
      "{% for m in messages %}{{ m.role[0] }}{{ m.content }}.{% endfor %}"
      "{% if add_generation_prompt %}a{% endif %}";
  folder.write("chat.jinja", chat_template);
  folder.write("other.jinja", "!" + chat_template);
  folder.write("warm.yaml", "schedule: {warmup_steps: 3}\n");
  fs::create_directories(folder.path() / "plugins");
  fs::copy_file(TITAN_TEST_PLUGIN_DIR "/libgood.so",
                folder.path() / "plugins/libgood.so");
}

// Without what differs from run to run: times, speeds, memory.
std::string stable_record(const std::string& line) {
  Json record = Json::parse(line);
  if (record.contains("mfu_percent"))
    record["peak"] = text(std::round(100 * record["tflops_s"].get<double>() /
                                     record["mfu_percent"].get<double>()));
  for (const char* key : {"checkpoint_blocked_s",
                          "checkpoint_total_s",
                          "tokens_s",
                          "tflops_s",
                          "mfu_percent",
                          "memory_mib",
                          "eta_seconds",
                          "time",
                          "wall_time",
                          "first_step_start_s"})
    record.erase(key);
  return record.dump();
}

std::string checkpoint_facts(const fs::path& folder) {
  const checkpoint::CheckpointReader reader(folder);
  const checkpoint::Manifest& manifest = reader.manifest();
  std::string facts = text(
      " plugins ", manifest.state.plugins, " layout ", manifest.state.layout);
  for (const checkpoint::FileRecord& file : manifest.files)
    facts += text(' ', file.name, '=', file.checksum);
  return facts;
}

std::string file_facts(const fs::path& root) {
  std::map<std::string, std::string> facts;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path& path = entry.path();
    // Event files and traces have times in their names.
    const std::string name =
        std::regex_replace(fs::relative(path, root).string(),
                           std::regex("[0-9]{9,}[^/]*"),
                           "<time>");
    std::string& fact = facts[name];
    if (path.filename() == "metrics.jsonl") {
      std::ifstream lines(path);
      for (std::string line; std::getline(lines, line);)
        fact += "\n  " + stable_record(line);
    } else if (fs::exists(path / "manifest.json")) {
      fact = checkpoint_facts(path);
    } else if (path.extension() == ".safetensors") {
      std::ifstream content(path, std::ios::binary);
      const std::string all{std::istreambuf_iterator<char>(content), {}};
      fact = text(' ', std::hash<std::string>{}(all));
    } else if (path.filename().string().find("trace") != std::string::npos ||
               path.extension() == ".json") {
      // How many steps a trace holds.
      std::ifstream content(path);
      const std::string all{std::istreambuf_iterator<char>(content), {}};
      const std::regex step(R"("name": ?"step")");
      fact = text(
          ' ',
          std::distance(std::sregex_iterator(all.begin(), all.end(), step), {}),
          " steps");
    }
  }
  std::string out;
  for (const auto& [name, fact] : facts) out += name + fact + '\n';
  return out;
}

std::string stable_log(const std::vector<std::string>& lines) {
  // How far the readers were ahead at the end is chance: no counts of theirs.
  // What the machine has free is not a fact of the run.
  static const std::regex time(R"( in \d+ ms|; machine has .*)");
  std::string out;
  for (const std::string& line : lines)
    if (line.find("tok/s") == std::string::npos &&
        line.find("mfu") == std::string::npos &&
        line.find("loss") == std::string::npos &&
        line.find("conversations: ") == std::string::npos &&
        line.find("data left out") == std::string::npos &&
        line.find("startup") == std::string::npos)
      out += std::regex_replace(line, time, "") + '\n';
  return out;
}

std::string run_once(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  std::string facts;
  test::CapturedLog log;
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  const int exit_code = cli::run_titan(arguments, out, err);
  std::cout.rdbuf(before);
  return text("exit ",
              exit_code,
              '\n',
              out.str(),
              err.str(),
              stable_log(log.lines),
              "threads ",
              at::get_num_threads(),
              " deterministic ",
              at::globalContext().deterministicAlgorithms(),
              '\n');
}

std::set<std::string> leaf_keys() {
  const config::SchemaRegistry registry = config::make_core_registry();
  std::set<std::string> keys;
  for (const auto& key : config::list_keys(registry.root()))
    if (key.schema->properties.empty()) keys.insert(key.path);
  return keys;
}

}  // namespace

std::string visible_facts(const std::vector<std::string>& overrides,
                          const std::vector<std::string>& arguments,
                          const std::string& recipe_head) {
  const ScratchFolder folder;
  fill(folder);
  const std::string dir = folder.path().string();
  std::string recipe_text = recipe_head + kRecipe;
  // A mixture stands in the place of one source.
  for (const std::string& override : overrides)
    if (override.starts_with("data.sources="))
      recipe_text = replaced(recipe_text, kOneSource, "");
  const std::string recipe =
      folder.write("small.yaml", replaced(recipe_text, "$DIR", dir));
  std::vector<std::string> command = {"train", recipe};
  for (const std::string& override : overrides) {
    command.push_back("--set");
    command.push_back(replaced(override, "$DIR", dir));
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  // Twice: what resuming does is seen in the second.
  std::string facts = run_once(command);
  facts += run_once(command);
  for (const char* place : {"runs", "elsewhere"})
    if (fs::exists(folder.path() / place))
      facts += file_facts(folder.path() / place);
  return replaced(facts, dir, "$DIR");
}

// Case CFG-09.
TEST_CASE("every key of the recipe has an entry in the table of effects") {
  std::set<std::string> listed;
  for (const OptionEffect& effect : option_effects()) listed.insert(effect.key);
  const std::set<std::string> keys = leaf_keys();
  for (const std::string& key : keys) {
    INFO("add an entry to option_effects.cpp: " << key);
    CHECK(listed.count(key) == 1);
  }
  for (const std::string& key : listed) {
    INFO("no such key any more: " << key);
    CHECK(keys.count(key) == 1);
  }
}

TEST_CASE("every key of the recipe changes something that can be seen") {
  const int threads = at::get_num_threads();
  std::map<std::vector<std::string>, std::string> unchanged;
  for (const OptionEffect& effect : option_effects()) {
    std::vector<std::string> same = effect.given;
    same.insert(same.end(), effect.arguments.begin(), effect.arguments.end());
    if (unchanged.count(same) == 0)
      unchanged[same] = visible_facts(effect.given, effect.arguments, "");
    std::vector<std::string> overrides = effect.given;
    overrides.insert(
        overrides.end(), effect.changed.begin(), effect.changed.end());
    const std::string changed =
        visible_facts(overrides, effect.arguments, effect.recipe_head);
    INFO(effect.key << ":\n" << changed);
    CHECK(changed != unchanged.at(same));
    // A crash is a change, too, but none that shows an effect.
    CHECK(changed.find("exit 70") == std::string::npos);
  }
  at::globalContext().setDeterministicAlgorithms(false, false);
  at::set_num_threads(threads);
}

TEST_CASE("what is seen of a run is the same in the next run") {
  CHECK(visible_facts({}, {}, "") == visible_facts({}, {}, ""));
  const std::vector<std::string> ranks = {"--sim-ranks", "2"};
  CHECK(visible_facts({}, ranks, "") == visible_facts({}, ranks, ""));
}

}  // namespace titan::cases

// SPDX-License-Identifier: BSD-3-Clause
// Conversations through the stream: from lines of a file to rows.
#include "core/data/chat_mapper.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/data/stream.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace titan {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kTemplate =
    "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }}.{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}";

// "<u>a.<a>say a.<u>?.<a>no." has 25 bytes, of which 9 are learnt.
constexpr const char* kConversation =
    R"({"messages": [{"role": "user", "content": "a"},
    {"role": "assistant", "content": "say a"},
    {"role": "user", "content": "?"},
    {"role": "assistant", "content": "no"}]})";

std::string lines_of(int count) {
  std::string line = kConversation;
  std::erase(line, '\n');
  std::string all;
  for (int i = 0; i < count; ++i) all += line + '\n';
  return all;
}

std::shared_ptr<const ChatMapper> make_mapper(const Tokenizer& tokenizer,
                                              const char* source = kTemplate) {
  std::map<std::string, chat::ChatTemplate> by_name;
  by_name.emplace("default", chat::ChatTemplate(source, "t.jinja"));
  ChatSampleOptions options;
  options.truncation = Truncation::kKeepStart;
  options.max_tokens = 32;
  return std::make_shared<const ChatMapper>(
      tokenizer, chat::ChatTemplates(std::move(by_name)), options);
}

DataOptions options_for(const std::string& file,
                        std::shared_ptr<const SampleMapper> mapper) {
  DataOptions options;
  SourceOptions source;
  source.use = "jsonl";
  source.files = {file};
  source.mapper = std::move(mapper);
  options.sources = {source};
  options.packing = "best_fit";
  options.num_lanes = 1;
  options.num_threads = 0;
  options.seq_len = 32;
  options.tokens_per_microbatch = 64;
  return options;
}

}  // namespace

TEST_CASE("rows hold whole conversations with the assistant's targets") {
  const test::TemporaryFolder folder;
  const auto tokenizer = load_tokenizer("bytes");
  const auto mapper = make_mapper(*tokenizer);
  DataStream stream(
      options_for(folder.write("chat.jsonl", lines_of(5)), mapper), *tokenizer);
  Microbatch batch;
  REQUIRE(stream.next(batch));
  CHECK(batch.n_valid == 2 * 9);
  std::string learnt;
  for (const int64_t label : batch.labels)
    if (label != kNoTarget) learnt += static_cast<char>(label);
  CHECK(learnt == "say a.no.say a.no.");
  CHECK_THAT(stream.describe_mapped().at(0),
             Contains("conversations: ") && Contains("tokens learnt"));
}

TEST_CASE("lines without a conversation or an answer do not become rows") {
  const test::TemporaryFolder folder;
  const auto tokenizer = load_tokenizer("bytes");
  const auto mapper = make_mapper(*tokenizer);
  const std::string file = folder.write(
      "chat.jsonl",
      R"({"messages": [{"role": "system", "content": "Be still."}]})"
      "\n" +
          lines_of(2) + "{\"messages\": []}\n");
  DataOptions options = options_for(file, mapper);
  options.shuffle = false;
  Microbatch batch;
  const auto read_all = [&] {
    DataStream stream(options, *tokenizer);
    while (true) stream.next(batch);
  };
  CHECK_THROWS_WITH(
      read_all(), Contains("chat.jsonl:4: [data]") && Contains("no messages"));
  options.on_bad_line = "skip";
  DataStream stream(options, *tokenizer);
  for (int i = 0; i < 4; ++i) {
    stream.next(batch);
    CHECK(batch.n_valid == 2 * 9);
  }
  CHECK(stream.counts().num_bad_records == 1);
  CHECK(mapper->counts().num_without_target > 0);
}

TEST_CASE("a mapper's number changes with its template") {
  const auto tokenizer = load_tokenizer("bytes");
  const uint64_t one = make_mapper(*tokenizer)->fingerprint();
  CHECK(make_mapper(*tokenizer)->fingerprint() == one);
  CHECK(make_mapper(*tokenizer, "{{ messages[0].content }}")->fingerprint() !=
        one);
}

}  // namespace titan

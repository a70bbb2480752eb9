// SPDX-License-Identifier: BSD-3-Clause
// Fine-tuning on conversations: what is learnt, and what happens to the rest.
#include <cmath>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kPlain =
    "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }}.{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}";
constexpr const char* kMarked =
    "{% for m in messages %}<{{ m.role[0] }}>"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}."
    "{% endgeneration %}{% else %}{{ m.content }}.{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}";
constexpr const char* kRewriting =
    "{% for m in messages %}<{{ m.role[0] }}>"
    "{{ m.content if loop.last else m.content[-1:] }}.{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}";

std::string answered_conversations(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    lines += text(R"({"messages": [{"role": "user", "content": ")",
                  letter,
                  R"("}, {"role": "assistant", "content": "say )",
                  letter,
                  R"("}, {"role": "user", "content": "?"}, )"
                  R"({"role": "assistant", "content": "no"}]})",
                  '\n');
  }
  return lines;
}

Overrides chat_recipe(const std::string& file, const Overrides& more) {
  Overrides all = {"data.use=chat",
                   "data.files=[" + file + "]",
                   "data.packing=best_fit",
                   "training.seq_len=32",
                   "training.tokens_per_step=256"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

// Case DAT-15: templates without {% generation %} do not learn everything or
// nothing, silently.
TEST_CASE("only the assistant is learnt, with and without generation marks") {
  const ScratchFolder folder;
  const std::string file =
      folder.write("chat.jsonl", answered_conversations(60));
  const auto run = [&](const char* source, const Overrides& more = {}) {
    Overrides all = {"data.chat.template=" +
                     folder.write("chat.jinja", source)};
    all.insert(all.end(), more.begin(), more.end());
    return SmallRun(chat_recipe(file, all)).run();
  };
  const RunFacts plain = run(kPlain);
  CHECK(equal_bits(run(kMarked), plain));
  // Eight rows, in each one conversation of 26 tokens: "say a." and "no.".
  for (const int64_t targets : plain.targets) CHECK(targets == 8 * (6 + 3));
  for (const int64_t targets : run(kPlain, {"data.chat.loss_on=last"}).targets)
    CHECK(targets == 8 * 3);
  CHECK_THROWS_WITH(
      run(kRewriting),
      Contains("chat.jsonl:") && Contains("the template rewrites message 2"));
}

TEST_CASE("a conversation without an answer is left out and counted") {
  const ScratchFolder folder;
  const std::string file = folder.write(
      "chat.jsonl",
      answered_conversations(20) +
          R"({"messages": [{"role": "system", "content": "Be still."}]})");
  const RunFacts facts =
      SmallRun(chat_recipe(file,
                           {"data.lanes=1",
                            "data.chat.template=" +
                                folder.write("chat.jinja", kPlain)}))
          .run([](train::Training&) {},
               [](train::Training& training) {
                 const auto lines = training.data->describe_mapped();
                 REQUIRE(lines.size() == 1);
                 CHECK_THAT(lines[0],
                            Contains("without anything to learn and left out"));
               });
  for (const int64_t targets : facts.targets) CHECK(targets == 8 * (6 + 3));
}

// Case DAT-15: nothing but a system message anywhere leaves nothing to learn,
// which is said before any step; an empty answer is its end-of-turn alone.
TEST_CASE("no answer at all is an error, an empty one its end token") {
  const ScratchFolder folder;
  const std::string chat_template =
      "data.chat.template=" + folder.write("chat.jinja", kPlain);
  const std::string silent =
      folder.write("silent.jsonl",
                   R"({"messages": [{"role": "system", "content": "Hush."}]})");
  CHECK_THROWS_WITH(SmallRun(chat_recipe(silent, {chat_template})).run(),
                    Contains("nothing to train on"));
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines += text(R"({"messages": [{"role": "user", "content": ")",
                  i,
                  R"("}, {"role": "assistant", "content": ""}]})",
                  '\n');
  const RunFacts facts =
      SmallRun(chat_recipe(folder.write("empty.jsonl", lines),
                           {chat_template, "data.packing=none"}))
          .run();
  // Eight rows of one conversation; of "<u>1.<a>." the last byte is learnt.
  for (const int64_t targets : facts.targets) CHECK(targets == 8);
  for (const double loss : facts.losses) CHECK(std::isfinite(loss));
}

// Case DAT-16: what is longer than a row leaves no tail without its prompt, and
// a prompt that fills the row leaves no empty mask.
TEST_CASE("conversations longer than a row are truncated or dropped whole") {
  const ScratchFolder folder;
  const std::string file =
      folder.write("plain.jsonl",
                   R"({"prompt": "123456", "completion": "1234567"}
{"prompt": "123456789012", "completion": "x"}
{"prompt": "12", "completion": "345"}
)");
  const auto run = [&](const std::string& truncation) {
    return SmallRun(chat_recipe(file,
                                {"data.packing=none",
                                 "data.lanes=1",
                                 "data.shuffle=false",
                                 "training.seq_len=10",
                                 "training.tokens_per_step=20",
                                 "data.chat.truncation=" + truncation}))
        .run();
  };
  // A step is two rows: the cut 6 + 4 and the short 2 + 3.
  for (const RunFacts& facts : {run("keep_start")}) {
    for (const int64_t targets : facts.targets) CHECK(targets == 4 + 3);
    for (const double loss : facts.losses) CHECK(std::isfinite(loss));
  }
  // 3 + 7, 9 + 1 and 2 + 3 by turns.
  const std::vector<int64_t> by_turns = {7 + 1, 3 + 7, 1 + 3};
  CHECK(run("keep_end").targets == by_turns);
  for (const int64_t targets : run("drop").targets) CHECK(targets == 3 + 3);
}

TEST_CASE("conversations are not packed so that rows cut them") {
  const ScratchFolder folder;
  const std::string file =
      folder.write("chat.jsonl", answered_conversations(4));
  CHECK_THROWS_WITH(
      SmallRun(chat_recipe(file, {"data.packing=sequential"})).run(),
      Contains("conversations stay whole"));
}

TEST_CASE("the date that templates see is checked") {
  const ScratchFolder folder;
  const std::string file =
      folder.write("chat.jsonl", answered_conversations(4));
  for (const char* date : {"2024-02-30", "24-02-03", "today", "2024/02/03"})
    CHECK_THROWS_WITH(
        SmallRun(chat_recipe(file, {text("data.chat.date=\"", date, '"')}))
            .run(),
        Contains("[data.chat.date] expected a date"));
}

TEST_CASE("a line that is no conversation is named, or skipped") {
  const ScratchFolder folder;
  const std::string file = folder.write(
      "chat.jsonl", answered_conversations(30) + "{\"messages\": []}\n");
  const Overrides recipe =
      chat_recipe(file,
                  {"data.lanes=1",
                   "data.chat.template=" + folder.write("chat.jinja", kPlain)});
  CHECK_THROWS_WITH(
      SmallRun(recipe).run(),
      Contains("chat.jsonl:31: [data]") && Contains("no messages"));
  Overrides skipping = recipe;
  skipping.push_back("data.on_bad_line=skip");
  SmallRun(skipping).run([](train::Training&) {},
                         [](train::Training& training) {
                           CHECK(training.data->counts().num_bad_records == 1);
                         });
}

}  // namespace titan::cases

// SPDX-License-Identifier: BSD-3-Clause
// Which tokens of a conversation are learnt, and what is left out.
#include "core/data/chat_sample.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/data/record.h"
#include "core/data/token_places.h"

namespace titan {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kTokenizer = TITAN_SOURCE_DIR "/assets/tokenizer";

// "<|end|>" is a special token of the tokenizer; the role marks are text.
constexpr const char* kTurns =
    "{% for m in messages %}[{{ m.role }}]\n{{ m.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant]\n{% endif %}";
constexpr const char* kMarked =
    "{% for m in messages %}[{{ m.role }}]\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|end|>"
    "{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant]\n{% endif %}";
// Takes thoughts out of all but the last message.
constexpr const char* kRewriting =
    "{% for m in messages %}[{{ m.role }}]\n"
    "{{ m.content if loop.last else m.content.split('</think>')[-1] }}"
    "<|end|>\n{% endfor %}{% if add_generation_prompt %}[assistant]\n"
    "{% endif %}";

constexpr const char* kTwoTurns =
    R"({"messages": [{"role": "user", "content": "Who goes there?"},
    {"role": "assistant", "content": "A friend."},
    {"role": "user", "content": "Pass."},
    {"role": "assistant", "content": "Thanks, good night.\n"}]})";

chat::ChatTemplates one_template(const char* source) {
  std::map<std::string, chat::ChatTemplate> by_name;
  by_name.emplace("default", chat::ChatTemplate(source, "t.jinja"));
  return chat::ChatTemplates(std::move(by_name));
}

struct Fixture {
  explicit Fixture(const char* source, const ChatSampleOptions& options = {})
      : tokenizer(load_tokenizer(kTokenizer)),
        sampler(*tokenizer, one_template(source), options) {}

  std::optional<Sample> sample(const std::string& json) {
    return sampler.sample(parse_dialogue(json), counts);
  }
  std::optional<PreferenceSample> pair(const std::string& json) {
    return sampler.sample(parse_preference(json), counts);
  }
  // The texts of the runs of targets, with | between them.
  std::string targets(const Sample& sample) {
    std::string all;
    std::vector<int32_t> run;
    for (size_t t = 0; t <= sample.ids.size(); ++t) {
      if (t < sample.ids.size() && sample.is_target[t]) {
        run.push_back(sample.ids[t]);
      } else if (!run.empty()) {
        all += (all.empty() ? "" : "|") + tokenizer->decode(run);
        run.clear();
      }
    }
    return all;
  }

  std::unique_ptr<Tokenizer> tokenizer;
  ChatSampler sampler;
  ChatCounts counts;
};

std::string messages(const std::string& inside) {
  return R"({"messages": [)" + inside + "]}";
}

ChatSampleOptions truncating(Truncation truncation, int64_t max_tokens) {
  ChatSampleOptions options;
  options.truncation = truncation;
  options.max_tokens = max_tokens;
  return options;
}

}  // namespace

TEST_CASE("targets are the assistant's text and its end token, exactly") {
  for (const char* source : {kTurns, kMarked}) {
    Fixture chat(source);
    const std::optional<Sample> sample = chat.sample(kTwoTurns);
    REQUIRE(sample);
    CHECK(chat.targets(*sample) ==
          "A friend.<|end|>|Thanks, good night.\n<|end|>");
    CHECK(sample->ids ==
          chat.tokenizer->encode(
              chat.tokenizer->decode(sample->ids), false, false));
    CHECK(chat.counts.num_cut_tokens == 0);
    CHECK(chat.counts.num_tokens == static_cast<int64_t>(sample->ids.size()));
    CHECK(chat.counts.num_targets ==
          std::count(sample->is_target.begin(), sample->is_target.end(), 1));
  }
}

TEST_CASE("the last message alone, or those with a weight, can be learnt") {
  ChatSampleOptions options;
  options.loss_on = LossOn::kLast;
  for (const char* source : {kTurns, kMarked}) {
    Fixture last(source, options);
    CHECK(last.targets(*last.sample(kTwoTurns)) ==
          "Thanks, good night.\n<|end|>");
    Fixture weighted(source);
    const auto sample = weighted.sample(messages(
        R"({"role": "user", "content": "a"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "second", "weight": 0})"));
    CHECK(weighted.targets(*sample) == "first<|end|>");
  }
}

TEST_CASE("an empty answer is its end token, and no answer is left out") {
  Fixture chat(kTurns);
  const auto empty = chat.sample(messages(
      R"({"role": "user", "content": "a"},
      {"role": "assistant", "content": ""})"));
  CHECK(chat.targets(*empty) == "<|end|>");
  CHECK_FALSE(chat.sample(messages(R"({"role": "system", "content": "a"})")));
  CHECK(chat.counts.num_dialogues == 2);
  CHECK(chat.counts.num_without_target == 1);
}

TEST_CASE("a template that rewrites what was said is an error, not a mask") {
  Fixture chat(kRewriting);
  const std::string thoughts = messages(
      R"({"role": "user", "content": "a"},
      {"role": "assistant", "content": "<think>x</think>yes"},
      {"role": "user", "content": "b"},
      {"role": "assistant", "content": "<think>y</think>no"})");
  CHECK_THROWS_WITH(
      chat.sample(thoughts),
      Contains("[t.jinja] the template rewrites message 2 when more follow") &&
          Contains("{% generation %}") && Contains("data.chat.loss_on: last"));
  ChatSampleOptions options;
  options.loss_on = LossOn::kLast;
  Fixture last(kRewriting, options);
  CHECK(last.targets(*last.sample(thoughts)) == "<think>y</think>no<|end|>");
}

TEST_CASE("a generation prompt that answers do not begin with is an error") {
  Fixture chat(
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]<think>{% endif %}");
  CHECK_THROWS_WITH(
      chat.sample(kTwoTurns),
      Contains("message 2 does not begin with what add_generation_prompt"));
}

TEST_CASE("truncation keeps the start, the end, or drops, and counts") {
  Fixture whole(kTurns);
  const Sample all = *whole.sample(kTwoTurns);
  const auto size = static_cast<int64_t>(all.ids.size());

  Fixture start(kTurns, truncating(Truncation::kKeepStart, size - 3));
  const Sample first = *start.sample(kTwoTurns);
  CHECK(std::equal(first.ids.begin(), first.ids.end(), all.ids.begin()));
  CHECK(first.ids.size() == all.ids.size() - 3);
  CHECK(start.counts.num_truncated == 1);

  Fixture end(kTurns, truncating(Truncation::kKeepEnd, 6));
  const Sample last = *end.sample(kTwoTurns);
  CHECK(std::equal(last.ids.rbegin(), last.ids.rend(), all.ids.rbegin()));
  CHECK(last.ids.size() == 6);
  CHECK(last.is_target.size() == 6);

  Fixture drop(kTurns, truncating(Truncation::kDrop, size - 1));
  CHECK_FALSE(drop.sample(kTwoTurns));
  CHECK(drop.counts.num_too_long == 1);
  Fixture fits(kTurns, truncating(Truncation::kDrop, size));
  CHECK(fits.sample(kTwoTurns));
}

TEST_CASE("a prompt longer than what is kept leaves no target: dropped") {
  Fixture chat(kTurns, truncating(Truncation::kKeepStart, 4));
  CHECK_FALSE(chat.sample(kTwoTurns));
  CHECK(chat.counts.num_truncated == 1);
  CHECK(chat.counts.num_without_target == 1);
  CHECK(chat.counts.num_targets == 0);
}

TEST_CASE("other forms of records give the same samples") {
  Fixture chat(kTurns);
  const Sample expected = *chat.sample(messages(
      R"({"role": "system", "content": "s"}, {"role": "user", "content": "a"},
      {"role": "assistant", "content": "b"})"));
  const Sample sharegpt = *chat.sample(
      R"({"system": "s", "conversations": [{"from": "human", "value": "a"},
      {"from": "gpt", "value": "b"}]})");
  CHECK(sharegpt.ids == expected.ids);
  CHECK(sharegpt.is_target == expected.is_target);
  const Sample prompt = *chat.sample(
      R"({"prompt": [{"role": "system", "content": "s"},
      {"role": "user", "content": "a"}],
      "completion": [{"role": "assistant", "content": "b"}]})");
  CHECK(prompt.ids == expected.ids);
  CHECK(prompt.is_target == expected.is_target);
}

TEST_CASE("plain prompts and completions need no template") {
  ChatSampleOptions options;
  options.add_bos = options.add_eos = true;
  Fixture chat("", options);
  const Sample sample =
      *chat.sample(R"({"prompt": "To be, or", "completion": " not to be"})");
  CHECK(chat.targets(sample) == " not to be<|end|>");
  CHECK(sample.ids.front() == *chat.tokenizer->bos_id());
}

TEST_CASE("records that are no conversation say what is wrong") {
  Fixture chat(kTurns);
  for (const auto& [json, why] :
       {std::pair("{", "syntax error"),
        std::pair("[]", "expected an object, got a list"),
        std::pair("{}", "expected one of the fields messages"),
        std::pair(R"({"messages": []})", "no messages"),
        std::pair(R"({"messages": "x"})", "expected a list of messages"),
        std::pair(R"({"messages": [{"content": "x"}]})", "no field \"role\""),
        std::pair(R"({"messages": [{"role": 1}]})", "expected a text"),
        std::pair(R"({"conversations": [{"from": "x", "value": "y"}]})",
                  "of no known side: x"),
        std::pair(R"({"messages": [{"role": "user"}], "messages": []})",
                  "twice"),
        std::pair(R"({"messages": [{"role": "user"}], "tools": 1})",
                  "\"tools\": expected a list")}) {
    INFO(json);
    CHECK_THROWS_AS(chat.sample(json), BadRecord);
    CHECK_THROWS_WITH(chat.sample(json), Contains(why));
  }
  Fixture strict("{{ raise_exception('no such role') }}");
  CHECK_THROWS_AS(strict.sample(kTwoTurns), BadRecord);
  CHECK_THROWS_WITH(strict.sample(kTwoTurns), Contains("no such role"));
}

TEST_CASE("two answers share their prompt, which is no target") {
  Fixture chat(kTurns);
  const PreferenceSample pair = *chat.pair(
      R"({"prompt": [{"role": "user", "content": "Who goes there?"}],
      "chosen": [{"role": "assistant", "content": "A friend."}],
      "rejected": [{"role": "assistant", "content": "Nobody, sir."}]})");
  CHECK(chat.targets(pair.chosen) == "A friend.<|end|>");
  CHECK(chat.targets(pair.rejected) == "Nobody, sir.<|end|>");
  const std::span<const int32_t> prompt(pair.chosen.ids.data(),
                                        static_cast<size_t>(pair.num_shared));
  CHECK(chat.tokenizer->decode(prompt) ==
        "[user]\nWho goes there?<|end|>\n[assistant]\n");
  CHECK(std::equal(prompt.begin(), prompt.end(), pair.rejected.ids.begin()));

  const PreferenceSample implicit = *chat.pair(
      R"({"chosen": [{"role": "user", "content": "Who goes there?"},
      {"role": "assistant", "content": "A friend."}],
      "rejected": [{"role": "user", "content": "Who goes there?"},
      {"role": "assistant", "content": "Nobody, sir."}]})");
  CHECK(implicit.chosen.ids == pair.chosen.ids);
  CHECK(implicit.rejected.is_target == pair.rejected.is_target);
  CHECK_THROWS_WITH(chat.pair(R"({"chosen": [{"role": "user", "content": "a"}],
      "rejected": [{"role": "user", "content": "a"}]})"),
                    Contains("do not differ"));
}

TEST_CASE("truncated pairs still share their prompt") {
  const std::string json =
      R"({"prompt": "The quality of mercy is", "chosen": " not strain'd",
      "rejected": " strain'd, I say, and more than that"})";
  Fixture whole("");
  const PreferenceSample all = *whole.pair(json);
  const auto longest = static_cast<int64_t>(all.rejected.ids.size());
  Fixture end("", truncating(Truncation::kKeepEnd, longest - 2));
  const PreferenceSample cut = *end.pair(json);
  CHECK(cut.num_shared == all.num_shared - 2);
  CHECK(cut.chosen.ids.size() == all.chosen.ids.size() - 2);
  CHECK(end.counts.num_truncated == 1);
  Fixture none("", truncating(Truncation::kKeepEnd, longest - all.num_shared));
  CHECK_FALSE(none.pair(json));
  CHECK(none.counts.num_too_long == 1);
}

TEST_CASE("every token has its bytes of the text") {
  for (const char* folder : {kTokenizer, "bytes"}) {
    const auto tokenizer = load_tokenizer(folder);
    const std::string text =
        "<|end|> h\xC3\xA9llo  \n\n wor\xF0\x9F\x98\x80ld ";
    const auto ids = tokenizer->encode(text, false, false);
    const auto places = find_token_places(*tokenizer, ids, text);
    REQUIRE(places.size() == ids.size());
    size_t at = 0;
    for (size_t t = 0; t < ids.size(); ++t) {
      CHECK(places[t].begin == at);
      CHECK(text.substr(at, places[t].end - at) ==
            tokenizer->decode({&ids[t], 1}));
      at = places[t].end;
    }
    CHECK(at == text.size());
  }
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/chat_sample.h"

#include <algorithm>

#include <titan/error.h>

#include "core/chat/unicode_text.h"
#include "core/data/record.h"
#include "core/data/token_places.h"

namespace titan {
namespace {

using chat::TextRange;
using chat::Value;

bool is_answer(const Value& message) {
  return message.dict().find_name("role")->string() == "assistant";
}

bool is_learnt(const Value& message) {
  const Value* weight = message.dict().find_name("weight");
  return !weight || weight->is_true();
}

// The places of the assistant's messages that the completion has.
std::vector<size_t> all_answers(const Conversation& conversation) {
  std::vector<size_t> answers;
  for (size_t i = 0; i < conversation.messages.size(); ++i)
    if (is_answer(conversation.messages[i])) answers.push_back(i);
  return answers;
}

std::vector<size_t> learnt_answers(const Conversation& conversation,
                                   LossOn loss_on) {
  std::vector<size_t> answers = all_answers(conversation);
  if (loss_on == LossOn::kLast && answers.size() > 1)
    answers.erase(answers.begin(), answers.end() - 1);
  std::erase_if(answers, [&](size_t i) {
    return i < conversation.num_prompt || !is_learnt(conversation.messages[i]);
  });
  return answers;
}

// The ranges of {% generation %} blocks that belong to learnt answers. With all
// answers learnt their number may be any (two blocks in one message).
std::vector<TextRange> choose_ranges(const std::vector<TextRange>& generated,
                                     const std::vector<size_t>& all,
                                     const std::vector<size_t>& learnt) {
  if (learnt.size() == all.size()) return generated;
  if (generated.size() != all.size())
    throw BadRecord(text(
        "the template marks ",
        generated.size(),
        " stretches with {% generation %} for ",
        all.size(),
        " messages of the assistant, of which only some are learnt: expected "
        "one for each"));
  std::vector<TextRange> chosen;
  for (size_t i = 0; i < all.size(); ++i)
    if (std::find(learnt.begin(), learnt.end(), all[i]) != learnt.end())
      chosen.push_back(generated[i]);
  return chosen;
}

size_t common_start(std::string_view a, std::string_view b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(differ.first - a.begin());
}

int64_t count_targets(const Sample& sample) {
  // The first id is never predicted.
  return sample.is_target.empty()
             ? 0
             : std::count(
                   sample.is_target.begin() + 1, sample.is_target.end(), 1);
}

void cut(Sample& sample, size_t begin, size_t end) {
  const auto keep = [&](auto& all) {
    all.erase(all.begin() + static_cast<int64_t>(end), all.end());
    all.erase(all.begin(), all.begin() + static_cast<int64_t>(begin));
  };
  keep(sample.ids);
  keep(sample.is_target);
}

// White space behind an end-of-turn token is written by the template and never
// by the assistant, who has stopped.
void trim_behind_special(const Tokenizer& tokenizer,
                         const std::vector<int32_t>& ids,
                         const std::vector<TextRange>& places,
                         std::string_view text,
                         TextRange& range) {
  size_t end = range.end;
  while (end > range.begin && chat::is_ascii_space(text[end - 1])) --end;
  const auto last =
      std::find_if(places.begin(), places.end(), [&](const TextRange& place) {
        return place.end == end;
      });
  if (last == places.end()) return;
  if (is_special_token(tokenizer, ids[last - places.begin()])) range.end = end;
}

}  // namespace

LossOn parse_loss_on(const std::string& name) {
  if (name == "assistant") return LossOn::kAssistant;
  TITAN_USER_CHECK(name == "last",
                   "[data.chat.loss_on] expected assistant or last, got ",
                   name);
  return LossOn::kLast;
}

Truncation parse_truncation(const std::string& name) {
  if (name == "keep_start") return Truncation::kKeepStart;
  if (name == "keep_end") return Truncation::kKeepEnd;
  if (name == "drop") return Truncation::kDrop;
  TITAN_USER_CHECK(name == "none",
                   "[data.chat.truncation] expected keep_start, keep_end, drop "
                   "or none, got ",
                   name);
  return Truncation::kNone;
}

ChatCounts& ChatCounts::operator+=(const ChatCounts& other) {
  num_dialogues += other.num_dialogues;
  num_truncated += other.num_truncated;
  num_too_long += other.num_too_long;
  num_without_target += other.num_without_target;
  num_tokens += other.num_tokens;
  num_targets += other.num_targets;
  num_cut_tokens += other.num_cut_tokens;
  return *this;
}

ChatSampler::ChatSampler(const Tokenizer& tokenizer,
                         chat::ChatTemplates templates,
                         const ChatSampleOptions& options)
    : tokenizer_(tokenizer),
      templates_(std::move(templates)),
      options_(options) {
  TITAN_USER_CHECK(
      options.truncation == Truncation::kNone || options.max_tokens > 1,
      "[data.chat.truncation] max_tokens: expected at least 2, got ",
      options.max_tokens);
  tokenizer.encode("", options.add_bos, options.add_eos);  // The tokens exist.
  chat::add_special_tokens(tokenizer.special_tokens(), special_tokens_);
}

MaskedText ChatSampler::render(const Dialogue& dialogue) const {
  return std::visit([&](const auto& one) { return render(one); }, dialogue);
}

MaskedText ChatSampler::render(const Completion& completion) const {
  const std::string all = completion.prompt + completion.completion;
  return {all, {{completion.prompt.size(), all.size()}}, false};
}

MaskedText ChatSampler::render(const Conversation& conversation) const {
  const chat::ChatTemplate& chat_template =
      templates_.select(conversation.tools.is_true());
  const std::vector<size_t> learnt =
      learnt_answers(conversation, options_.loss_on);
  chat::RenderedChat all = render_all(chat_template, conversation);
  MaskedText masked{std::move(all.text), {}, true};
  if (learnt.empty()) return masked;
  if (!chat_template.has_generation()) {
    masked.targets =
        find_answers(chat_template, conversation, learnt, masked.text);
    return masked;
  }
  if (all.has_lost_generation)
    throw BadRecord(text(
        '[',
        chat_template.name(),
        "] a {% generation %} block stands in a macro or {% set %} block, so "
        "its place in the text is not known. Move it out"));
  masked.targets =
      choose_ranges(all.generated, all_answers(conversation), learnt);
  return masked;
}

chat::RenderedChat ChatSampler::render_all(
    const chat::ChatTemplate& chat_template,
    const Conversation& conversation) const {
  chat::ChatInput input{Value::list(conversation.messages),
                        conversation.tools,
                        conversation.documents,
                        false,
                        special_tokens_};
  for (const auto& [key, value] : conversation.variables.entries())
    input.variables.set(key, value);
  try {
    return chat_template.render(input, {options_.date, {}});
  } catch (const UserError& error) {
    throw BadRecord(error.what());
  }
}

std::string ChatSampler::render_messages(
    const chat::ChatTemplate& chat_template,
    const Conversation& conversation,
    size_t num_messages,
    bool add_generation_prompt) const {
  chat::ChatInput input{Value::list({conversation.messages.begin(),
                                     conversation.messages.begin() +
                                         static_cast<int64_t>(num_messages)}),
                        conversation.tools,
                        conversation.documents,
                        add_generation_prompt,
                        special_tokens_};
  for (const auto& [key, value] : conversation.variables.entries())
    input.variables.set(key, value);
  try {
    return chat_template.render(input, {options_.date, {}}).text;
  } catch (const UserError& error) {
    throw BadRecord(text("the first ",
                         num_messages,
                         " messages alone, which finding the assistant's text "
                         "needs: ",
                         error.what()));
  }
}

std::vector<TextRange> ChatSampler::find_answers(
    const chat::ChatTemplate& chat_template,
    const Conversation& conversation,
    const std::vector<size_t>& answers,
    const std::string& text) const {
  constexpr std::string_view kAdvice =
      ". Give a template with {% generation %} blocks, or set "
      "data.chat.loss_on: last";
  std::vector<TextRange> ranges;
  for (const size_t i : answers) {
    const std::string before =
        render_messages(chat_template, conversation, i, true);
    const std::string with =
        i + 1 == conversation.messages.size()
            ? text
            : render_messages(chat_template, conversation, i + 1, false);
    if (!text.starts_with(with))
      throw BadRecord(
          titan::text('[',
                      chat_template.name(),
                      "] the template rewrites message ",
                      i + 1,
                      " when more follow, from byte ",
                      common_start(text, with),
                      " on, so what the assistant says cannot be found",
                      kAdvice));
    if (!with.starts_with(before))
      throw BadRecord(titan::text(
          '[',
          chat_template.name(),
          "] message ",
          i + 1,
          " does not begin with what add_generation_prompt writes, from byte ",
          common_start(with, before),
          " on, so what the assistant says cannot be found",
          kAdvice));
    ranges.push_back({before.size(), with.size()});
  }
  return ranges;
}

Sample ChatSampler::tokenize(const MaskedText& masked,
                             ChatCounts& counts) const {
  Sample sample;
  sample.ids = tokenizer_.encode(masked.text, false, false);
  sample.is_target.assign(sample.ids.size(), 0);
  const std::vector<TextRange> places =
      find_token_places(tokenizer_, sample.ids, masked.text);
  for (TextRange range : masked.targets) {
    trim_behind_special(tokenizer_, sample.ids, places, masked.text, range);
    for (size_t t = 0; t < places.size(); ++t) {
      const TextRange& place = places[t];
      if (place.end <= range.begin || place.begin >= range.end) continue;
      sample.is_target[t] = 1;
      counts.num_cut_tokens +=
          place.begin < range.begin || place.end > range.end;
    }
  }
  if (masked.is_rendered) return sample;
  const auto bos = tokenizer_.bos_id();
  const auto eos = tokenizer_.eos_id();
  const bool has_bos = !sample.ids.empty() && sample.ids.front() == bos;
  if (options_.add_bos && !has_bos) {
    sample.ids.insert(sample.ids.begin(), *bos);
    sample.is_target.insert(sample.is_target.begin(), 0);
  }
  if (options_.add_eos && (sample.ids.empty() || sample.ids.back() != *eos)) {
    sample.ids.push_back(*eos);
    sample.is_target.push_back(1);
  }
  return sample;
}

// False: the sample is left out.
bool ChatSampler::truncate(Sample& sample, ChatCounts& counts) const {
  const auto size = static_cast<int64_t>(sample.ids.size());
  const int64_t excess = size - options_.max_tokens;
  if (options_.truncation == Truncation::kNone || excess <= 0) return true;
  if (options_.truncation == Truncation::kDrop) {
    ++counts.num_too_long;
    return false;
  }
  ++counts.num_truncated;
  if (options_.truncation == Truncation::kKeepStart)
    cut(sample, 0, static_cast<size_t>(options_.max_tokens));
  else
    cut(sample, static_cast<size_t>(excess), static_cast<size_t>(size));
  return true;
}

std::optional<Sample> ChatSampler::sample(const Dialogue& dialogue,
                                          ChatCounts& counts) const {
  ++counts.num_dialogues;
  ChatCounts made;
  Sample sample = tokenize(render(dialogue), made);
  if (!truncate(sample, counts)) return std::nullopt;
  made.num_targets = count_targets(sample);
  if (made.num_targets == 0) {
    ++counts.num_without_target;
    return std::nullopt;
  }
  made.num_tokens = static_cast<int64_t>(sample.ids.size());
  counts += made;
  return sample;
}

std::optional<PreferenceSample> ChatSampler::sample(
    const Preference& preference,
    ChatCounts& counts) const {
  ++counts.num_dialogues;
  ChatCounts made;
  PreferenceSample pair{tokenize(render(preference.chosen), made),
                        tokenize(render(preference.rejected), made)};
  const auto shared_of = [&] {
    const auto& a = pair.chosen;
    const auto& b = pair.rejected;
    int64_t n = 0;
    while (n < static_cast<int64_t>(std::min(a.ids.size(), b.ids.size())) &&
           a.ids[n] == b.ids[n] && !a.is_target[n] && !b.is_target[n])
      ++n;
    return n;
  };
  pair.num_shared = shared_of();
  const int64_t longest = static_cast<int64_t>(
      std::max(pair.chosen.ids.size(), pair.rejected.ids.size()));
  const int64_t excess = longest - options_.max_tokens;
  if (options_.truncation == Truncation::kKeepEnd && excess > 0) {
    if (excess >= pair.num_shared) {
      ++counts.num_too_long;
      return std::nullopt;
    }
    ++counts.num_truncated;
    for (Sample* one : {&pair.chosen, &pair.rejected})
      cut(*one, static_cast<size_t>(excess), one->ids.size());
  } else {
    ChatCounts cuts;
    const bool is_kept =
        truncate(pair.chosen, cuts) && truncate(pair.rejected, cuts);
    counts.num_truncated += cuts.num_truncated > 0;
    counts.num_too_long += cuts.num_too_long;
    if (!is_kept) return std::nullopt;
  }
  pair.num_shared = shared_of();
  if (count_targets(pair.chosen) == 0 || count_targets(pair.rejected) == 0) {
    ++counts.num_without_target;
    return std::nullopt;
  }
  for (const Sample* one : {&pair.chosen, &pair.rejected}) {
    made.num_tokens += static_cast<int64_t>(one->ids.size());
    made.num_targets += count_targets(*one);
  }
  counts += made;
  return pair;
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/chat_section.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <titan/error.h>

#include "core/data/chat_mapper.h"

namespace titan::train {
namespace {

using config::Recipe;

// 2024-07-26, as a calendar has it: the weekday with it.
std::tm parse_date(const std::string& date) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  const auto read = [&](size_t begin, size_t size, auto& number) {
    const char* first = date.data() + begin;
    return std::from_chars(first, first + size, number).ptr == first + size;
  };
  const bool is_read = date.size() == 10 && date[4] == '-' && date[7] == '-' &&
                       read(0, 4, year) && read(5, 2, month) && read(8, 2, day);
  const std::chrono::year_month_day calendar{std::chrono::year(year),
                                             std::chrono::month(month),
                                             std::chrono::day(day)};
  TITAN_USER_CHECK(is_read && calendar.ok(),
                   "[data.chat.date] expected a date such as 2024-07-26, got ",
                   date);
  const std::chrono::sys_days days = calendar;
  std::tm result{};
  result.tm_year = year - 1900;
  result.tm_mon = static_cast<int>(month) - 1;
  result.tm_mday = static_cast<int>(day);
  result.tm_wday = static_cast<int>(std::chrono::weekday(days).c_encoding());
  const std::chrono::sys_days new_year =
      calendar.year() / std::chrono::January / 1;
  result.tm_yday = static_cast<int>((days - new_year).count());
  return result;
}

// Where nothing is said and the tokenizer has none, records of plain texts can
// still be read.
chat::ChatTemplates load_templates(const Recipe& recipe) {
  if (const auto file = recipe.optional_string("data.chat.template"))
    return chat::load_chat_template_file(*file);
  const std::string folder = recipe.string("data.tokenizer");
  return folder == "bytes" ? chat::ChatTemplates({})
                           : chat::load_chat_templates(folder);
}

using MapperPointer = std::shared_ptr<const SampleMapper>;

MapperPointer make_mapper(const Recipe& recipe,
                          const Tokenizer& tokenizer,
                          ChatSampleOptions chat) {
  chat.loss_on = parse_loss_on(recipe.string("data.chat.loss_on"));
  chat.truncation = parse_truncation(recipe.string("data.chat.truncation"));
  if (const auto date = recipe.optional_string("data.chat.date"))
    chat.date = parse_date(*date);
  return std::make_shared<const ChatMapper>(
      tokenizer, load_templates(recipe), chat);
}

}  // namespace

void apply_chat_section(const Recipe& recipe,
                        const Tokenizer& tokenizer,
                        DataOptions& options) {
  ChatSampleOptions chat;
  chat.max_tokens = options.seq_len;
  chat.add_bos = options.add_bos;
  chat.add_eos = options.add_eos;
  // One for all sources, and only where one has conversations: what a plugin's
  // dataset holds is known when it is open. Sources are opened one by one.
  const auto made = std::make_shared<MapperPointer>();
  const auto mapper = [recipe, &tokenizer, chat, made] {
    if (!*made) *made = make_mapper(recipe, tokenizer, chat);
    return *made;
  };
  for (SourceOptions& source : options.sources) {
    if (source.opener) source.chat_mapper = mapper;
    if (source.use != "chat") continue;
    source.use = "jsonl";
    source.mapper = mapper();
  }
}

}  // namespace titan::train

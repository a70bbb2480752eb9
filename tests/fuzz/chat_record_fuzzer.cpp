// SPDX-License-Identifier: BSD-3-Clause
// Lines of conversations and pairs: any bytes are samples or bad records.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/data/chat_sample.h"
#include "core/data/record.h"

namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

titan::ChatSampler make_sampler(const titan::Tokenizer& tokenizer) {
  std::map<std::string, titan::chat::ChatTemplate> by_name;
  by_name.emplace("default", titan::chat::ChatTemplate(kTemplate, "t"));
  titan::ChatSampleOptions options;
  options.truncation = titan::Truncation::kKeepEnd;
  options.max_tokens = 64;
  return {tokenizer, titan::chat::ChatTemplates(std::move(by_name)), options};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kTokenizer = titan::load_tokenizer("bytes");
  static const titan::ChatSampler kSampler = make_sampler(*kTokenizer);
  const std::string line(reinterpret_cast<const char*>(data), size);
  titan::ChatCounts counts;
  try {
    kSampler.sample(titan::parse_dialogue(line), counts);
  } catch (const titan::BadRecord&) {
    // A line that is no conversation is named by who reads.
  }
  try {
    kSampler.sample(titan::parse_preference(line), counts);
  } catch (const titan::BadRecord&) {
    // The same for pairs.
  }
  return 0;
}

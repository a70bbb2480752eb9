// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "core/data/sample.h"
#include "core/tokenizer/tokenizer.h"

namespace {

const std::string kTokenizerFolder = TITAN_SOURCE_DIR "/assets/tokenizer";
using Ids = std::vector<int32_t>;

titan::Sample map_one(const titan::SampleMapper& mapper, titan::Record record) {
  std::vector<titan::Sample> samples;
  mapper.map(record, samples);
  REQUIRE(samples.size() == 1);
  return samples.front();
}

titan::Record record_of(const std::string& content) {
  titan::Record record;
  record.content = content;
  return record;
}

}  // namespace

TEST_CASE("whole documents get BOS and EOS, inner pieces neither", "[unit]") {
  const auto tokenizer = titan::load_tokenizer(kTokenizerFolder);
  const auto mapper = titan::make_text_mapper(*tokenizer, true, true);
  titan::Record record = record_of("a");
  CHECK(map_one(*mapper, record).ids == Ids{2000, 64, 2001});
  record.begins_document = false;
  CHECK(map_one(*mapper, record).ids == Ids{64, 2001});
  record.ends_document = false;
  CHECK(map_one(*mapper, record).ids == Ids{64});
}

TEST_CASE("ids pass through a text mapper with their look-ahead", "[unit]") {
  const auto tokenizer = titan::load_tokenizer("bytes");
  const auto mapper = titan::make_text_mapper(*tokenizer, false, false);
  titan::Record record;
  record.ids = {7, 8, 9};
  record.has_lookahead = true;
  const titan::Sample sample = map_one(*mapper, record);
  CHECK(sample.ids == Ids{7, 8, 9});
  CHECK(sample.num_inputs() == 2);
}

TEST_CASE("text that is not UTF-8 is a bad record, unless any bytes do",
          "[unit]") {
  const auto tokenizer = titan::load_tokenizer(kTokenizerFolder);
  const auto bytes = titan::load_tokenizer("bytes");
  const auto strict = titan::make_text_mapper(*tokenizer, false, false);
  const auto lenient = titan::make_text_mapper(*bytes, false, false);
  std::vector<titan::Sample> samples;
  titan::Record record = record_of("ab\xff");
  CHECK_THROWS_AS(strict->map(record, samples), titan::BadRecord);
  CHECK_THROWS_WITH(strict->map(record, samples),
                    Catch::Contains("ill-formed byte at offset 2"));
  CHECK(map_one(*lenient, record_of("ab\xff")).ids == Ids{97, 98, 255});
}

TEST_CASE("mappers with unlike tokenizers or flags have unlike fingerprints",
          "[unit]") {
  const auto tokenizer = titan::load_tokenizer(kTokenizerFolder);
  const auto bytes = titan::load_tokenizer("bytes");
  const auto plain = titan::make_text_mapper(*tokenizer, false, false);
  const auto same = titan::make_text_mapper(*tokenizer, false, false);
  const auto ended = titan::make_text_mapper(*tokenizer, false, true);
  const auto other = titan::make_text_mapper(*bytes, false, false);
  CHECK(plain->fingerprint() == same->fingerprint());
  CHECK(plain->fingerprint() != ended->fingerprint());
  CHECK(plain->fingerprint() != other->fingerprint());
  CHECK_FALSE(plain->reads_json());
}

TEST_CASE("a mapper that needs a token which is not there says so", "[unit]") {
  const auto bytes = titan::load_tokenizer("bytes");
  CHECK_THROWS_WITH(titan::make_text_mapper(*bytes, true, false),
                    Catch::Contains("add_bos needs a BOS token"));
}

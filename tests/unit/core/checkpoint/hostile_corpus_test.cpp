// SPDX-License-Identifier: BSD-3-Clause
// Files that somebody made to hurt, on disk and through the readers that users
// reach: truncated, overlapping, negative, huge, deep, not UTF-8. Each of the
// four kinds is refused by an error that names the file and what is wrong.
// More of each, against the parsers alone: safetensors_test, manifest_test,
// tokenizer/hostile_files_test; mutants: tests/fuzz.
#include <algorithm>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/checksum.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/data/dataset.h"
#include "core/data/read_report.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace fs = std::filesystem;

namespace {

struct Hostile {
  std::string bytes;
  std::string expected;  // in the message
};

const std::string kDeep(100'000, '[');

// Writes each to a file of its own and opens it. Returns how many there are.
template <typename Open>
int check_refused(const std::string& file_name,
                  const std::vector<Hostile>& files,
                  Open open) {
  const TemporaryFolder folder;
  int count = 0;
  for (const Hostile& file : files) {
    const fs::path home = folder.path() / titan::text("case_", count++);
    fs::create_directory(home);
    put_file(home / file_name, file.bytes);
    INFO(file_name << ": " << file.bytes.substr(0, 160));
    CHECK_THROWS_AS(open(home / file_name), titan::UserError);
    CHECK_THROWS_WITH(
        open(home / file_name),
        Contains(home.filename().string()) && Contains(file.expected));
  }
  return count;
}

std::string with_length(const std::string& header, std::size_t data_bytes = 0) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = static_cast<char>(header.size() >> (8 * i));
  return out + header + std::string(data_bytes, 'd');
}

std::string one_tensor(const std::string& body, std::size_t data_bytes = 0) {
  return with_length(titan::text("{\"a\":{", body, "}}"), data_bytes);
}

std::string shaped(const std::string& shape,
                   const std::string& offsets,
                   std::size_t data_bytes) {
  return one_tensor(
      titan::text(
          "\"dtype\":\"U8\",\"shape\":", shape, ",\"data_offsets\":", offsets),
      data_bytes);
}

std::string two_tensors(const std::string& second) {
  return with_length(
      titan::text("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":"
                  "[0,2]},\"b\":{\"dtype\":\"U8\",\"shape\":[2],"
                  "\"data_offsets\":",
                  second,
                  "}}"),
      4);
}

int check_safetensors() {
  return check_refused(
      "model.safetensors",
      {{"", "expected at least 8 bytes, got 0"},
       {"short", "expected at least 8 bytes, got 5"},
       {std::string(8, '\0'), "got no byte"},
       {std::string(8, '\xff'), "at most 100000000 bytes"},
       {with_length("{}").substr(0, 9), "header is truncated"},
       {with_length("{"), "syntax error"},
       {with_length("[]"), "'{' as its first byte"},
       {with_length("{\"\xff\":1}"), "syntax error"},
       {with_length("{\"a\":" + kDeep), "nesting of at most 3"},
       {with_length(std::string(100'000, '{')), "syntax error"},
       {with_length("{\"a\":{},\"a\":{}}"), "got \"a\" twice"},
       {with_length("{\"__metadata__\":{\"k\":1}}"), "expected a string"},
       {one_tensor("\"dtype\":\"F4\""), "got \"F4\""},
       {shaped("[-3]", "[0,3]", 3), "non-negative integers, got -3"},
       {shaped("[9223372036854775808]", "[0,3]", 3), "2^63 - 1"},
       {shaped("[4294967296,4294967296]", "[0,0]", 0), "below 2^63"},
       {shaped("[4]", "[0,3]", 3), "expected 4 bytes"},
       {shaped("[3]", "[-3,0]", 3), "non-negative integers"},
       {shaped("[3]", "[3,0]", 3), "(begin, end) within 3"},
       {shaped("[3]", "[0,18446744073709551615]", 3), "within 3 bytes"},
       {shaped("[3]", "[0,3]", 2), "within 2 bytes"},
       {shaped("[3]", "[0,3]", 9), "file size: expected"},
       {two_tensors("[1,3]"), "inside another tensor"},
       {two_tensors("[3,5]"), "within 4 bytes"}},
      [](const fs::path& file) { SafetensorsFile{file}; });
}

int check_index() {
  const auto map = [](const std::string& entry) {
    return titan::text("{\"weight_map\":{", entry, "}}");
  };
  return check_refused(
      "model.safetensors.index.json",
      {{"", "syntax error"},
       {"[]", "weight_map: expected an object"},
       {map("\"a\":3"), "expected a file name without a folder"},
       {map("\"a\":\"../m.safetensors\""), "got ../m.safetensors"},
       {map("\"a\":\"/etc/passwd\""), "got /etc/passwd"},
       {map("\"a\":\"m\",\"a\":\"n\""), "twice"},
       {map("\"a\":\"\xff\""), "syntax error"},
       {map("\"a\":" + kDeep), "nesting of at most"},
       {map("\"a\":\"gone.safetensors\""), "got none for (gone.safetensors)"}},
      [](const fs::path& file) { SafetensorsFolder{file.parent_path()}; });
}

int check_tokenizers() {
  const auto model = [](const std::string& vocab,
                        const std::string& more = "") {
    return titan::text("{\"model\":{\"type\":\"WordLevel\",\"vocab\":",
                       vocab,
                       ",\"unk_token\":\"u\"}",
                       more,
                       "}");
  };
  const std::string good = "{\"u\":0,\"a\":1}";
  return check_refused(
      "tokenizer.json",
      {{"", "syntax error"},
       {model(good).substr(0, 30), "syntax error"},
       {"[]", "expected"},
       {"{\"normalizer\":" + kDeep, "nesting of at most 32"},
       {"{\"a\":\"\xff\"}", "syntax error"},
       {R"({"model":"\ud800"})", "syntax error"},
       {model("{\"u\":0,\"u\":1}"), "each key once"},
       {model("{\"u\":-1}"), "expected an integer"},
       {model("{\"u\":1e300}"), "got 1e+300"},
       {model("{\"u\":99999999999}"), "expected an integer"},
       {model("{\"u\":0,\"a\":0}"), "an id that no other token has"},
       {model("[]"), "expected an object"},
       {"{\"model\":null}", "expected a model"},
       {model(good, ",\"added_tokens\":[3]"), "expected an added token"},
       {model(good,
              ",\"added_tokens\":[{\"id\":1152921504606846976,\"content\":"
              "\"x\"}]"),
        "from 0 to 4194303"},
       {model(good,
              R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":)"
              R"("((a+)+)+$"},"behavior":"Isolated","invert":false})"),
        "regular expression is not supported"}},
      [](const fs::path& file) {
        titan::load_tokenizer(file.parent_path().string());
      });
}

int check_lines() {
  const auto open = [](const fs::path& file) {
    titan::ReadReport report(titan::OnBadRecord::kError);
    titan::DatasetOptions options;
    options.files = {file.string()};
    options.field = "text";
    options.report = &report;
    const auto dataset = titan::open_jsonl_dataset(options);
    const auto reader = dataset->open(0);
    std::vector<titan::Record> records;
    while (reader->next_block(records)) {
    }
  };
  return check_refused(
      "a.jsonl",
      {{R"({"text":null})", "expected a string, got null"},
       {R"({"text":-1})", "expected a string, got number"},
       {R"({"text":1e999})", "line is not JSON"},
       {R"({"txet":"x"})", "no field \"text\""},
       {"{\"text\":\"\xff\xfe\"}", "line is not UTF-8"},
       {"{\"text\":\"\xed\xa0\x80\"}", "line is not UTF-8"},
       {R"({"text":"\ud83d"})", "line is not JSON"},
       {R"({"text":"cut)", "line is not JSON"},
       {R"({"text":)" + kDeep, "line is not JSON"},
       {kDeep + std::string(kDeep.size(), ']'), "an object, got array"},
       {"[1]", "expected an object, got array"},
       {"3", "expected an object, got number"}},
      open);
}

// A manifest of one file and one tensor whose seal fits whatever is in it.
std::string manifest_with(const std::string& from, const std::string& to) {
  std::string body =
      R"("step": 1, "world_size": 1, "files": [{"name":"m.safetensors",)"
      R"("size":8,"checksum":"0000000000000001"}], "tensors": [{"name":"w",)"
      R"("role":"model","dtype":"F32","shape":[2],"file":"m.safetensors",)"
      R"("key":"w"}], "ranks": [{}], "layout": {}, "recipe": {}, )"
      R"("plugins": {}, "trainer": {}})";
  const std::size_t at = body.find(from);
  REQUIRE(at != std::string::npos);
  body.replace(at, from.size(), to);
  return titan::text("{\"format\": \"titan.checkpoint/1\", \"checksum\": \"",
                     checksum_text(compute_checksum(
                         std::as_bytes(std::span(std::as_const(body))))),
                     "\",\n",
                     body);
}

int check_manifests() {
  const std::string shape = "\"shape\":[2]";
  return check_refused(
      "manifest.json",
      {{"", "expected a first line with titan.checkpoint/1"},
       {manifest_with("w", "w").substr(0, 150), "damaged or was edited"},
       {manifest_with("w", "w") + "x", "damaged or was edited"},
       {manifest_with("\"trainer\": {}}", "\"trainer\": {}"), "syntax error"},
       {manifest_with("\"step\": 1", "\"step\": -1"), "step: expected"},
       {manifest_with("\"step\": 1", "\"step\": 18446744073709551615"),
        "below 2^63"},
       {manifest_with("\"step\": 1", "\"step\": 1, \"step\": 2"), "twice"},
       {manifest_with("\"m.safetensors\",\"size\"", "\"../m\",\"size\""),
        "plain file names"},
       {manifest_with("\"size\":8", "\"size\":-8"), "expected"},
       {manifest_with("0000000000000001", "1"), "hex digits"},
       {manifest_with("\"F32\"", "\"X\""), "dtype: expected"},
       {manifest_with(shape, "\"shape\":[-2]"), "counts"},
       {manifest_with(shape, "\"shape\":[4294967296,4294967296]"), "2^63"},
       {manifest_with(shape, shape + ",\"offset\":[1],\"extent\":[2]"),
        "inside"},
       {manifest_with("\"trainer\": {}", "\"trainer\": " + kDeep),
        "nesting of at most"},
       {manifest_with("\"name\":\"w\"", "\"name\":\"\xff\""), "syntax error"},
       {manifest_with("w", "w"), "file is absent: expected 8 bytes"}},
      [](const fs::path& file) { CheckpointReader{file.parent_path()}; });
}

}  // namespace

TEST_CASE("more than sixty hostile files are refused by name", "[unit]") {
  const int count = check_safetensors() + check_index() + check_tokenizers() +
                    check_lines() + check_manifests();
  CHECK(count >= 60);
}

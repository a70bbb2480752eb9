// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/safetensors.h"

#include <cstring>
#include <random>

#include <catch2/catch.hpp>
#include <fcntl.h>     // O_*
#include <sys/stat.h>  // mkfifo

#include <titan/error.h>

#include "core/checkpoint/safetensors_folder.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace {

const std::string kGoldenModel = TITAN_SOURCE_DIR "/tests/golden/llama3";

// A file with this header and this many bytes of data.
std::string file_text(std::string_view header, std::size_t data_bytes) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = static_cast<char>(header.size() >> (8 * i));
  out += header;
  out.append(data_bytes, 'd');
  return out;
}

SafetensorsContent parse(std::string_view text) {
  return parse_safetensors(bytes_of(text), "f");
}

SafetensorsContent parse(std::string_view header, std::size_t data_bytes) {
  const std::string text = file_text(header, data_bytes);
  return parse(text);
}

std::string tensor(std::string_view body) {
  return titan::text("{\"a\":{", body, "}}");
}

void check_refused(std::string_view header,
                   std::size_t data_bytes,
                   const std::string& message) {
  INFO(header);
  CHECK_THROWS_AS(parse(header, data_bytes), titan::UserError);
  CHECK_THROWS_WITH(parse(header, data_bytes),
                    Catch::StartsWith("[checkpoint f] ") && Contains(message));
}

}  // namespace

TEST_CASE("reader opens files that PyTorch wrote", "[unit]") {
  const SafetensorsFile model(kGoldenModel + "/model.safetensors");
  CHECK(model.metadata().at("format") == "pt");
  const TensorView& head = model.get("lm_head.weight");
  CHECK(head.dtype == Dtype::kF32);
  CHECK(head.shape == std::vector<std::int64_t>{256, 64});
  CHECK(head.bytes.size() == 256 * 64 * 4);
  std::int64_t num_elements = 0;
  for (const TensorView& view : model.tensors())
    num_elements += static_cast<std::int64_t>(view.bytes.size()) / 4;
  CHECK(num_elements == 106816);  // meta.json, "parameters"
  float loss = 0;
  const SafetensorsFile expected(kGoldenModel + "/expected.safetensors");
  std::memcpy(&loss, expected.get("loss").bytes.data(), sizeof(loss));
  CHECK(loss == 5.83894681930542f);  // meta.json, "loss"
}

TEST_CASE("reader opens every golden file", "[unit]") {
  for (const char* name : {"batches",
                           "expected",
                           "expected_training",
                           "final",
                           "grads",
                           "inputs",
                           "model"}) {
    INFO(name);
    const SafetensorsFile file(kGoldenModel + "/" + name + ".safetensors");
    CHECK(!file.tensors().empty());
  }
}

TEST_CASE("absent tensor is refused by name and find says no", "[unit]") {
  const SafetensorsFile model(kGoldenModel + "/model.safetensors");
  CHECK(model.find("nope") == nullptr);
  CHECK_THROWS_WITH(model.get("nope"),
                    Contains("tensor is absent: expected \"nope\", got"));
}

TEST_CASE("metadata alias of a tied weight finds its tensor", "[unit]") {
  TemporaryFolder folder;
  put_file(folder.path() / "a.safetensors",
           file_text("{\"__metadata__\":{\"head\":\"embed\",\"x\":\"y\"},"
                     "\"embed\":{\"dtype\":\"U8\",\"shape\":[2],"
                     "\"data_offsets\":[0,2]}}",
                     2));
  const SafetensorsFile file(folder.path() / "a.safetensors");
  CHECK(file.find("head") == file.find("embed"));
  CHECK(file.find("x") == nullptr);
}

TEST_CASE("file without tensors is a file", "[unit]") {
  CHECK(parse("{}", 0).tensors.empty());
  CHECK(parse("{}      ", 0).tensors.empty());
}

TEST_CASE("tensors come in the order of their bytes", "[unit]") {
  const auto content = parse(
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
      "\"c\":{\"dtype\":\"U8\",\"shape\":[0,9],\"data_offsets\":[3,3]}}",
      4);
  CHECK(content.tensors[0].name == "b");
  CHECK(content.tensors[1].name == "c");
  CHECK(content.tensors[2].name == "a");
}

TEST_CASE("truncated files are refused at every length", "[unit]") {
  const std::string whole = file_text(
      tensor("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"), 8);
  CHECK_NOTHROW(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(parse(std::string_view(whole).substr(0, size)),
                    titan::UserError);
  }
  CHECK_THROWS_WITH(parse(whole + "x"), Contains("file size: expected"));
}

TEST_CASE("malformed header lengths are refused", "[unit]") {
  CHECK_THROWS_WITH(parse("short"), Contains("expected at least 8 bytes"));
  CHECK_THROWS_WITH(parse(std::string(8, '\xff')),
                    Contains("expected at most 100000000 bytes, got "
                             "18446744073709551615"));
  CHECK_THROWS_WITH(parse(std::string(8, '\0')), Contains("got no byte"));
  CHECK_THROWS_WITH(parse(std::string("\x05\0\0\0\0\0\0\0{}", 10)),
                    Contains("header is truncated: expected 5 bytes, got 2"));
}

TEST_CASE("malformed JSON headers are refused", "[unit]") {
  check_refused("[]", 0, "expected '{' as its first byte");
  check_refused(" {}", 0, "expected '{' as its first byte");
  check_refused("{", 0, "syntax error at byte");
  check_refused("{}{}", 0, "syntax error at byte");
  check_refused("{\"\xff\":1}", 0, "syntax error at byte");
  check_refused("{\"a\":1e999}", 0, "syntax error at byte");
  check_refused("{\"a\":1}", 0, "expected an object, got number");
  check_refused("{\"a\":[[[[1]]]]}", 0, "nesting of at most 3");
  check_refused(std::string(100'000, '{'), 0, "syntax error at byte");
  check_refused("{\"a\":" + std::string(100'000, '['), 0, "nesting of at most");
  check_refused("{\"a\":{},\"a\":{}}", 0, "got \"a\" twice");
  check_refused(tensor("\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],"
                       "\"data_offsets\":[0,1]"),
                1,
                "got \"dtype\" twice");
}

TEST_CASE("malformed metadata is refused", "[unit]") {
  check_refused("{\"__metadata__\":[]}", 0, "expected an object of strings");
  check_refused(
      "{\"__metadata__\":{\"k\":1}}", 0, "expected a string, got num");
}

TEST_CASE("malformed tensor entries are refused", "[unit]") {
  check_refused(tensor(""), 0, "\"a\" dtype: expected a string, got nothing");
  check_refused(tensor("\"dtype\":3"), 0, "expected a string, got number");
  check_refused(tensor("\"dtype\":\"F4\""), 0, "got \"F4\"");
  check_refused(tensor("\"dtype\":\"f32\""), 0, "got \"f32\"");
  check_refused(tensor("\"dtype\":\"U8\""), 0, "shape: expected an array");
  check_refused(tensor("\"stride\":[1]"), 0, "got \"stride\"");
  const auto shape = [](std::string_view dims, std::string_view offsets) {
    return tensor(titan::text(
        "\"dtype\":\"U8\",\"shape\":", dims, ",\"data_offsets\":", offsets));
  };
  check_refused(shape("3", "[0,3]"), 3, "shape: expected an array, got number");
  check_refused(shape("[-1]", "[0,3]"), 3, "non-negative integers, got -1");
  check_refused(shape("[1.5]", "[0,3]"), 3, "non-negative integers, got 1.5");
  check_refused(shape("[\"3\"]", "[0,3]"), 3, "integers, got string");
  check_refused(shape("[9223372036854775808]", "[0,3]"), 3, "2^63 - 1");
  check_refused(shape("[18446744073709551616]", "[0,3]"), 3, "integers, got");
  check_refused(shape("[4294967296,4294967296]", "[0,0]"), 0, "below 2^63");
  check_refused(shape("[4]", "[0,3]"), 3, "expected 4 bytes for U8 (4), got 3");
  check_refused(shape("[3]", "[3,0]"), 3, "expected (begin, end) within 3");
  check_refused(shape("[3]", "[0,4]"), 3, "got (0, 4)");
  check_refused(shape("[3]", "[0]"), 3, "got (0)");
  check_refused(shape("[3]", "[0,1,3]"), 3, "got (0, 1, 3)");
  check_refused(shape("[3]", "[-3,0]"), 3, "non-negative integers");
  check_refused(shape("[3]", "[18446744073709551615,2]"), 3, "within 3 bytes");
  check_refused(shape("[2]", "[1,3]"), 3, "after a hole: expected offset 0");
  check_refused(shape("[2]", "[0,2]"), 3, "file size: expected");
}

TEST_CASE("overlapping tensors and holes are refused", "[unit]") {
  const auto two = [](std::string_view first, std::string_view second) {
    return titan::text(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],"
        "\"data_offsets\":",
        first,
        "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],"
        "\"data_offsets\":",
        second,
        "}}");
  };
  CHECK_NOTHROW(parse(two("[0,2]", "[2,4]"), 4));
  check_refused(two("[0,2]", "[1,3]"), 3, "inside another tensor");
  check_refused(two("[0,2]", "[0,2]"), 2, "inside another tensor");
  check_refused(two("[0,2]", "[3,5]"), 5, "after a hole: expected offset 2");
}

TEST_CASE("only regular files are mapped", "[unit]") {
  TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(SafetensorsFile(pipe), Contains("a regular file"));
  CHECK_THROWS_WITH(SafetensorsFile(folder.path()), Contains("regular file"));
  CHECK_THROWS_WITH(SafetensorsFile(folder.path() / "no"), Contains("No such"));
  put_file(folder.path() / "empty", "");
  CHECK_THROWS_WITH(SafetensorsFile(folder.path() / "empty"),
                    Contains("expected at least 8 bytes, got 0"));
}

// Any accepted mutant must be consistent, any other must throw UserError;
// crashes and other exceptions fail. Also run under the asan preset.
TEST_CASE("mutated headers never crash the reader (seed 20261)", "[unit]") {
  const std::string original = get_file(kGoldenModel + "/inputs.safetensors");
  std::mt19937 random(20261);
  const std::string_view tokens = "{}[]\":,-0123456789eE.\\u\0 \xff";
  int num_accepted = 0;
  constexpr int kRounds = 150'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string mutant = original;
    for (unsigned count = 1 + random() % 4; count > 0; --count) {
      const std::size_t at =
          random() % std::min<std::size_t>(464, mutant.size());
      switch (random() % 4) {
        case 0:
          mutant[at] = static_cast<char>(random());
          break;
        case 1:
          mutant[at] = tokens[random() % tokens.size()];
          break;
        case 2:
          mutant.erase(at, 1 + random() % 8);
          break;
        default:
          mutant.insert(at, 1, tokens[random() % tokens.size()]);
      }
      if (mutant.empty()) mutant = original;
    }
    try {
      const SafetensorsContent content = parse(mutant);
      ++num_accepted;
      std::size_t total_bytes = 0;
      for (const TensorView& view : content.tensors) {
        REQUIRE(tensor_size_bytes(view.dtype, view.shape) ==
                static_cast<std::int64_t>(view.bytes.size()));
        REQUIRE(view.bytes.data() + view.bytes.size() <=
                bytes_of(mutant).data() + mutant.size());
        total_bytes += view.bytes.size();
      }
      REQUIRE(total_bytes <= mutant.size());
    } catch (const titan::UserError&) {
    }
  }
  CHECK(num_accepted > 0);
  CHECK(num_accepted < kRounds);
}

TEST_CASE("hostile files of the fuzzers' corpus are refused by name",
          "[unit]") {
  const std::string corpus = TITAN_SOURCE_DIR "/tests/fuzz/corpus/safetensors";
  int num_refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    INFO(entry.path());
    try {
      SafetensorsFile file(entry.path());
    } catch (const titan::UserError& error) {
      ++num_refused;
      CHECK_THAT(error.what(), Contains(entry.path().string()));
      CHECK_THAT(error.what(), Contains("expected"));
    }
  }
  CHECK(num_refused == 8);  // all but "empty" and "two_tensors"
}

// Case CKP-17: a missing shard, a tensor that the index has elsewhere, a stray
// file, a wrong total_size, a name that leaves the folder.
TEST_CASE("folder reader follows the index of shards", "[unit]") {
  TemporaryFolder folder;
  const auto shard = [](std::string_view a, std::string_view b) {
    return file_text(
        titan::text("{\"",
                    a,
                    "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]"
                    "},\"",
                    b,
                    "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[1,2]"
                    "}}"),
        2);
  };
  put_file(folder.path() / "m-1.safetensors", shard("a", "b"));
  put_file(folder.path() / "m-2.safetensors", shard("b", "c"));
  put_file(folder.path() / "stray.safetensors", "not read");
  const auto index = folder.path() / "model.safetensors.index.json";

  SECTION("the weight map decides where a tensor comes from") {
    put_file(index,
             R"({"metadata":{"total_size":1},"weight_map":{)"
             R"("a":"m-1.safetensors","b":"m-2.safetensors"}})");
    const SafetensorsFolder tensors(folder.path());
    CHECK(tensors.tensors().size() == 2);
    CHECK(tensors.get("b").shape == std::vector<std::int64_t>{1});
    CHECK(tensors.find("c") == nullptr);
    CHECK_THROWS_WITH(tensors.get("c"), Contains("tensor is absent"));
  }
  SECTION("missing shards are listed") {
    put_file(index,
             R"({"weight_map":{"a":"x.safetensors","b":"y.safetensors"}})");
    CHECK_THROWS_WITH(SafetensorsFolder(folder.path()),
                      Contains("got none for (x.safetensors, y.safetensors)"));
  }
  SECTION("tensor absent from its shard is refused") {
    put_file(index, R"({"weight_map":{"c":"m-1.safetensors"}})");
    CHECK_THROWS_WITH(SafetensorsFolder(folder.path()),
                      Contains("expected \"c\" as the index says"));
  }
  SECTION("shard names cannot leave the folder") {
    for (const char* name : {"../m.safetensors", "/etc/passwd", "..", ""}) {
      put_file(index, titan::text(R"({"weight_map":{"a":")", name, "\"}}"));
      CHECK_THROWS_WITH(SafetensorsFolder(folder.path()),
                        Contains("expected a file name without a folder"));
    }
  }
  SECTION("an index without a map is refused") {
    put_file(index, "{}");
    CHECK_THROWS_WITH(SafetensorsFolder(folder.path()), Contains("weight_map"));
    put_file(index, "[");
    CHECK_THROWS_WITH(SafetensorsFolder(folder.path()), Contains("syntax"));
  }
}

TEST_CASE("folder reader opens single files and says what it misses",
          "[unit]") {
  CHECK(SafetensorsFolder(kGoldenModel).find("lm_head.weight") != nullptr);
  CHECK(SafetensorsFolder(kGoldenModel + "/grads.safetensors").files().size() ==
        1);
  TemporaryFolder folder;
  CHECK_THROWS_WITH(SafetensorsFolder(folder.path()), Contains("none of them"));
  put_file(folder.path() / "diffusion_pytorch_model.safetensors",
           file_text("{}", 0));
  CHECK(SafetensorsFolder(folder.path()).tensors().empty());
}

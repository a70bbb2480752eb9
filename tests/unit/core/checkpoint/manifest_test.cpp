// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/manifest.h"

#include <random>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/checksum.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace {

Manifest sample() {
  Manifest manifest;
  manifest.step = 100;
  manifest.world_size = 2;
  manifest.files = {{"model-rank0.safetensors", 80, 1},
                    {"model-rank1.safetensors", 80, 0xfedcba9876543210}};
  TensorRecord piece;
  piece.name = "w";
  piece.role = "model";
  piece.shape = {4, 2};
  piece.region = {{0, 0}, {2, 2}};
  piece.file = "model-rank0.safetensors";
  piece.key = "w";
  manifest.tensors.push_back(piece);
  piece.region = {{2, 0}, {2, 2}};
  piece.file = "model-rank1.safetensors";
  manifest.tensors.push_back(piece);
  manifest.state.trainer = R"({"step":100,"loss":0.1})";
  manifest.rank_states = {"{}", R"({"position":7})"};
  return manifest;
}

std::string body_of(const std::string& text) {
  return text.substr(text.find('\n') + 1);
}

// What somebody who can compute checksums would write.
std::string sealed(const std::string& body) {
  const auto bytes = std::as_bytes(std::span(body));
  return titan::text("{\"format\": \"titan.checkpoint/1\", \"checksum\": \"",
                     checksum_text(compute_checksum(bytes)),
                     "\",\n",
                     body);
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string body = body_of(manifest_text(sample()));
  const std::size_t at = body.find(from);
  REQUIRE(at != std::string::npos);
  return sealed(body.replace(at, from.size(), to));
}

void check_refused(const std::string& text, const std::string& message) {
  CHECK_THROWS_AS(parse_manifest(text, "f"), titan::UserError);
  CHECK_THROWS_WITH(parse_manifest(text, "f"),
                    Catch::StartsWith("[checkpoint f") && Contains(message));
}

}  // namespace

TEST_CASE("manifest comes back as it was written", "[unit]") {
  const std::string text = manifest_text(sample());
  const Manifest manifest = parse_manifest(text, "f");
  CHECK(manifest_text(manifest) == text);
  CHECK(manifest.step == 100);
  CHECK(manifest.files[1].checksum == 0xfedcba9876543210);
  CHECK(manifest.tensors[1].region == Region{{2, 0}, {2, 2}});
  CHECK(manifest.state.trainer == sample().state.trainer);
  CHECK(manifest.rank_states == sample().rank_states);
}

TEST_CASE("edited manifest is told from one of another format", "[unit]") {
  std::string text = manifest_text(sample());
  CHECK(text == sealed(body_of(text)));
  text[text.find("\"step\": 100") + 8] = '9';
  check_refused(text, "manifest is damaged or was edited: expected checksum");
  check_refused("", "expected a first line with titan.checkpoint/1");
  check_refused("{}", "expected a first line with titan.checkpoint/1");
  check_refused("{\"format\": \"titan.checkpoint/2\", \"checksum\": \"0\",\n}",
                "expected a first line with titan.checkpoint/1");
}

TEST_CASE("every byte of the manifest matters", "[unit]") {
  const std::string whole = manifest_text(sample());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    INFO("byte " << at);
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1);
    CHECK_THROWS_AS(parse_manifest(text, "f"), titan::UserError);
    CHECK_THROWS_AS(parse_manifest(whole.substr(0, at), "f"), titan::UserError);
  }
}

TEST_CASE("sealed manifests with false content are refused", "[unit]") {
  check_refused(sealed("\"step\": 1"), "syntax error");
  check_refused(sealed("\"step\": 1}"), "key: expected \"world_size\"");
  check_refused(replaced("\"step\": 100", "\"step\": -1"), "step: expected");
  check_refused(replaced("\"step\": 100", "\"step\": 1.5"), "step: expected");
  check_refused(replaced("\"step\": 100", "\"step\": 18446744073709551615"),
                "below 2^63");
  check_refused(replaced("\"step\": 100", "\"step\": 1, \"step\": 2"), "twice");
  check_refused(replaced("\"world_size\": 2", "\"world_size\": 3"), "ranks");
  const std::string file = "\"name\":\"model-rank0.safetensors\"";
  check_refused(replaced(file, "\"name\":\"../model\""), "plain file names");
  check_refused(replaced(file, "\"name\":\"model-rank1.safetensors\""),
                "each once");
  check_refused(replaced(file, "\"name\":\"other\""), "one of the manifest's");
  check_refused(replaced("fedcba9876543210", "fedcba987654321"), "hex digits");
  check_refused(replaced("fedcba9876543210", "FEDCBA9876543210"), "hex digits");
  check_refused(replaced("\"F32\"", "\"X\""), "dtype: expected");
  check_refused(replaced("\"F32\"", "\"F16\""), "one dtype and shape");
  check_refused(replaced("[4,2]", "[4,3]"), "one dtype and shape");
  check_refused(replaced("\"offset\":[0,0]", "\"offset\":[1,0]"), "once");
  check_refused(replaced("\"offset\":[2,0]", "\"offset\":[3,0]"), "inside");
  check_refused(replaced("\"offset\":[2,0]", "\"offset\":[2]"), "inside");
  check_refused(replaced("\"offset\":[2,0]", "\"offset\":[-2,0]"), "counts");
  check_refused(replaced("\"files\": [", "\"files\": [1,"), "an object");
  check_refused(replaced("\"trainer\"", "\"other\""), "\"trainer\", got none");
  check_refused(replaced("{\"step\":100", std::string(100, '[')),
                "nesting of at most");
}

TEST_CASE("sealed mutants never crash the manifest reader (seed 3)", "[unit]") {
  const std::string body = body_of(manifest_text(sample()));
  const std::string_view tokens = "{}[]\":,-0123456789eE.\\ \xff";
  std::mt19937 random(3);
  int num_accepted = 0;
  constexpr int kRounds = 10'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string mutant = body;
    for (unsigned count = 1 + random() % 3; count > 0; --count)
      mutant[random() % mutant.size()] = tokens[random() % tokens.size()];
    try {
      require_complete_tensors("f",
                               parse_manifest(sealed(mutant), "f").tensors);
      ++num_accepted;
    } catch (const titan::UserError&) {
    }
  }
  CHECK(num_accepted > 0);
  CHECK(num_accepted < kRounds);
}

TEST_CASE("rank report comes back as it was written", "[unit]") {
  RankReport report;
  report.step = 3;
  report.rank = 1;
  report.files = sample().files;
  report.tensors = sample().tensors;
  report.state = R"({"z":1,"a":2})";
  const RankReport read = parse_rank_report(rank_report_text(report), "f");
  CHECK(rank_report_text(read) == rank_report_text(report));
  CHECK(read.state == report.state);
  CHECK_THROWS_AS(parse_rank_report("{}", "f"), titan::UserError);
  // A marker of which only a part has arrived is not one.
  const std::string whole = rank_report_text(report);
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THROWS_AS(parse_rank_report(whole.substr(0, length), "f"),
                    titan::UserError);
}

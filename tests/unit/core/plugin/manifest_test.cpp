// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/manifest.h"

#include "tests/unit/core/plugin/test_plugins.h"

namespace titan::plugin::testing {
namespace {

std::string with_component(const std::string& component) {
  return R"({"name":"acme.norms","version":"1.2.0","vendor":"Acme",
      "licence":"Apache-2.0","abi":{"major":1,"minor_built":3,"minor_min":0},
      "torch_target":"2.11.0","needs":["libcuda.so.1"],
      "built":{"compiler":"12.2.0","cxx11_abi":1},"from_the_future":[1],
      "components":[)" +
         component + "]}";
}

constexpr const char* kKernel =
    R"({"kind":"titan.kernel/1","id":"acme.rms","summary":"Fast.",
        "op":"titan.rms_norm/1","targets":[{"device":"cpu",
        "features":["avx2","fma"]}],"dtypes":["f32","bf16"],"priority":600,
        "flags":["deterministic","backward"],"config_schema":{"b":1,"a":2}})";

Caught failure(const std::string& json) {
  return catch_user_error([&] { parse_manifest(json, "libacme.so"); });
}

std::string replaced(std::string words, const std::string& a, const char* b) {
  REQUIRE(words.find(a) != std::string::npos);
  return words.replace(words.find(a), a.size(), b);
}

}  // namespace

TEST_CASE("manifest reads all it knows and ignores what it does not",
          "[unit]") {
  const Manifest note = parse_manifest(with_component(kKernel), "libacme.so");
  CHECK(note.name == "acme.norms");
  CHECK(note.licence == "Apache-2.0");
  CHECK(note.abi_minor_built == 3);
  CHECK(torch_version_text(note.torch_target) == "2.11.0");
  CHECK(note.needs == std::vector<std::string>{"libcuda.so.1"});
  CHECK(note.cxx11_abi == 1);
  const ManifestComponent& component = note.components.at(0);
  CHECK(component.config_schema == R"({"a":2,"b":1})");
  const KernelMatch match = component.kernel.value();
  CHECK(match.op == "titan.rms_norm/1");
  CHECK(match.cpu_features == (TITAN_CPU_AVX2 | TITAN_CPU_FMA));
  CHECK(match.dtype_mask ==
        (1ull << TITAN_DTYPE_F32 | 1ull << TITAN_DTYPE_BF16));
  CHECK(match.priority == 600);
  CHECK(match.flags ==
        (TITAN_KERNEL_DETERMINISTIC | TITAN_KERNEL_HAS_BACKWARD));
}

TEST_CASE("manifest faults name the key", "[unit]") {
  const std::string good = with_component(kKernel);
  const auto text_of = [&](const std::string& a, const char* b) {
    const Caught caught = failure(replaced(good, a, b));
    CHECK(caught.code == Code::kBadManifest);
    return caught.text;
  };
  CHECK_THAT(text_of("\"major\":1", "\"major\":-1"),
             Catch::Contains("'abi.major': expected a number from 0"));
  CHECK_THAT(text_of("\"acme.norms\"", "7"), Catch::Contains("'name'"));
  CHECK_THAT(text_of("\"2.11.0\"", "\"latest\""),
             Catch::Contains("'torch_target'"));
  CHECK_THAT(text_of("\"avx2\"", "\"avx9\""),
             Catch::Contains("'components[0].targets[0].features'"));
  CHECK_THAT(text_of("\"op\"", "\"of\""),
             Catch::Contains("'components[0].op'"));
  CHECK(failure(with_component("")).code == Code::kBadManifest);
  CHECK(failure("{").code == Code::kBadManifest);
  CHECK(failure("[]").code == Code::kBadManifest);
  CHECK(failure(std::string(100000, '[')).code == Code::kBadManifest);
}

}  // namespace titan::plugin::testing

// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/elf.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include <elf.h>

#include "core/plugin/trust.h"
#include "tests/unit/core/plugin/test_plugins.h"

namespace titan::plugin::testing {
namespace {

constexpr std::uint64_t kFuzzSeed = 20260101;
constexpr std::chrono::milliseconds kFuzzTime{2000};

std::vector<std::byte> bytes_of(const std::string& plugin) {
  return read_plugin(test_plugin(plugin), Trust::kIgnored).bytes;
}

bool has_symbol(const std::vector<ElfSymbol>& symbols, std::string_view name) {
  return std::any_of(symbols.begin(), symbols.end(), [name](const auto& each) {
    return each.name == name;
  });
}

/// The first bytes of a library of another machine.
std::vector<std::byte> header_of(int elf_class, std::uint16_t machine) {
  std::vector<std::byte> out = bytes_of("good");
  out[EI_CLASS] = static_cast<std::byte>(elf_class);
  std::memcpy(out.data() + offsetof(Elf64_Ehdr, e_machine), &machine, 2);
  return out;
}

Caught parse_failure(const std::vector<std::byte>& bytes) {
  return catch_user_error([&] { parse_elf(bytes, "libacme.so"); });
}

}  // namespace

TEST_CASE("elf reader tells what a plugin is and needs", "[unit]") {
  const ElfFile elf = parse_elf(bytes_of("threaded"), "libthreaded.so");
  CHECK(elf.build_id.size() == 40);
  CHECK(elf.titan_notes.size() == 1);
  CHECK_THAT(elf.titan_notes.at(0).content,
             Catch::StartsWith("{\"name\":\"test.threaded\""));
  CHECK(std::count(elf.needed.begin(), elf.needed.end(), "libc.so.6") == 1);
  CHECK(has_symbol(elf.exported, "titan_plugin_entry_v1"));
  CHECK(has_symbol(elf.undefined, "__cxa_thread_atexit"));
  CHECK(elf.thread_local_bytes > 0);
  CHECK_FALSE(elf.has_executable_stack);
  CHECK_FALSE(elf.has_text_relocations);
  const auto versioned =
      std::find_if(elf.undefined.begin(), elf.undefined.end(), [](auto& each) {
        return each.name == "__cxa_thread_atexit";
      });
  CHECK(versioned->version_file == "libstdc++.so.6");
  CHECK_THAT(versioned->version, Catch::StartsWith("CXXABI_"));
}

TEST_CASE("elf reader sees an executable stack and a relative run path",
          "[unit]") {
  CHECK(parse_elf(bytes_of("exec_stack"), "x").has_executable_stack);
  CHECK(parse_elf(bytes_of("relative_rpath"), "x").run_paths ==
        std::vector<std::string>{"lib/here"});
}

TEST_CASE("elf reader names the machine that a library is for", "[unit]") {
  Caught caught = parse_failure(header_of(ELFCLASS64, EM_AARCH64));
  CHECK(caught.code == Code::kWrongArch);
  CHECK_THAT(caught.text, Catch::Contains("got aarch64"));
  caught = parse_failure(header_of(ELFCLASS32, EM_386));
  CHECK(caught.code == Code::kWrongArch);
  CHECK_THAT(caught.text, Catch::Contains("got 32-bit"));
}

TEST_CASE("elf reader refuses text, nothing and a file cut anywhere",
          "[unit]") {
  const std::string words = "#!/bin/sh\necho no library\n";
  const auto* data = reinterpret_cast<const std::byte*>(words.data());
  Caught caught = parse_failure({data, data + words.size()});
  CHECK(caught.code == Code::kNotElf);
  CHECK_THAT(caught.text, Catch::Contains("not an ELF file"));
  CHECK(parse_failure({}).code == Code::kNotElf);

  const std::vector<std::byte> whole = bytes_of("good");
  for (std::size_t size = 0; size < whole.size(); size += 61)
    CHECK(parse_failure({whole.data(), whole.data() + size}).code ==
          Code::kNotElf);
}

TEST_CASE("elf reader survives changed bytes (seed 20260101)", "[unit]") {
  const std::vector<std::byte> whole = bytes_of("threaded");
  std::mt19937_64 random(kFuzzSeed);
  // Half of the changes go where the structure is, the rest anywhere.
  const auto pick = [&](std::size_t limit) { return random() % limit; };
  const auto end = std::chrono::steady_clock::now() + kFuzzTime;
  int num_parsed = 0, num_refused = 0;
  while (std::chrono::steady_clock::now() < end) {
    std::vector<std::byte> bytes = whole;
    const std::size_t num_changes = 1 + pick(8);
    for (std::size_t i = 0; i < num_changes; ++i) {
      const std::size_t limit = pick(2) == 0 ? 2048 : bytes.size();
      constexpr std::uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff};
      bytes[pick(std::min(limit, bytes.size()))] =
          static_cast<std::byte>(pick(2) == 0 ? kEdges[pick(5)] : random());
    }
    if (pick(8) == 0) bytes.resize(pick(bytes.size()));
    try {
      parse_elf(bytes, "libacme.so");
      ++num_parsed;
    } catch (const UserError&) {
      ++num_refused;  // any other exception ends the test
    }
  }
  CHECK(num_parsed > 0);
  CHECK(num_refused > 0);
}

}  // namespace titan::plugin::testing

// SPDX-License-Identifier: BSD-3-Clause
// One side of bench/tokenizer_speed.py, which alternates it with tiktoken and
// Hugging Face tokenizers: encodes a text each time a line arrives and answers
// with "seconds tokens checksum". usage: bench_tokenizer_speed TOKENIZER TEXT
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <titan/error.h>

#include "core/tokenizer/batch.h"
#include "core/tokenizer/tokenizer.h"

namespace {

std::string read_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, "[", path, "] file cannot be read");
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// Line N encodes on N threads, in parts of about 64 KiB that end at lines.
std::vector<std::string_view> cut(std::string_view text) {
  constexpr size_t kPartBytes = 65536;
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = text.find('\n', kPartBytes);
    end = end == text.npos ? text.size() : end + 1;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_tokenizer_speed TOKENIZER TEXT\n";
    return 2;
  }
  try {
    const auto tokenizer = titan::load_tokenizer(argv[1]);
    const std::string text = read_text(argv[2]);
    const std::vector<std::string_view> parts = cut(text);
    for (int threads; std::cin >> threads;) {
      const auto start = std::chrono::steady_clock::now();
      size_t num_tokens = 0;
      uint64_t checksum = 0;
      if (threads == 1) {
        for (const int32_t id : tokenizer->encode(text, false, false)) {
          ++num_tokens;
          checksum = checksum * 31 + static_cast<uint64_t>(id);
        }
      } else {
        for (const auto& ids :
             titan::encode_batch(*tokenizer, parts, {.num_threads = threads}))
          num_tokens += ids.size();
      }
      const std::chrono::duration<double> seconds =
          std::chrono::steady_clock::now() - start;
      std::cout << seconds.count() << ' ' << num_tokens << ' ' << checksum
                << std::endl;
    }
  } catch (const titan::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}

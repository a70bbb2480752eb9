// SPDX-License-Identifier: BSD-3-Clause
// Decoders of tokens that stand for bytes, and those that join and trim.
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/text_pattern.h"
#include "core/tokenizer/token_decoder.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out.append(part);
  return out;
}

class ByteLevelDecoder final : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& parts) const override {
    for (std::string& part : parts)
      if (auto bytes = bytes_of_byte_level(part)) part = std::move(*bytes);
    parts = {join(parts)};
  }
};

class Fuse final : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& parts) const override {
    parts = {join(parts)};
  }
};

// "<0x41>" is byte 0x41; a run of such tokens that is not UTF-8 becomes one
// U+FFFD per byte.
class ByteFallback final : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& parts) const override {
    std::vector<std::string> out;
    std::string run;
    const auto end_run = [&] {
      if (run.empty()) return;
      if (find_invalid_utf8(run))
        out.insert(out.end(), run.size(), "\xEF\xBF\xBD");
      else
        out.push_back(run);
      run.clear();
    };
    for (std::string& part : parts) {
      const int byte = byte_of(part);
      if (byte >= 0) {
        run.push_back(static_cast<char>(byte));
        continue;
      }
      end_run();
      out.push_back(std::move(part));
    }
    end_run();
    parts = std::move(out);
  }

 private:
  static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  }
  // Rust's from_str_radix also reads "+7".
  static int byte_of(const std::string& part) {
    if (part.size() != 6 || !part.starts_with("<0x") || part[5] != '>')
      return -1;
    const int high = part[3] == '+' ? 0 : digit(part[3]);
    const int low = digit(part[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
  }
};

class ReplaceDecoder final : public TokenDecoder {
 public:
  explicit ReplaceDecoder(const JsonNode& node)
      : pattern_(node["pattern"]), content_(node["content"].string()) {
    node.only_keys({"type", "pattern", "content"});
  }
  void apply(std::vector<std::string>& parts) const override {
    for (std::string& part : parts) part = pattern_.replace_all(part, content_);
  }

 private:
  TextPattern pattern_;
  std::string content_;
};

// Takes up to `start` and `stop` times the character off the ends.
class StripDecoder final : public TokenDecoder {
 public:
  explicit StripDecoder(const JsonNode& node)
      : content_(read_character(node["content"])),
        start_(node["start"].integer(0, kMost)),
        stop_(node["stop"].integer(0, kMost)) {
    node.only_keys({"type", "content", "start", "stop"});
  }
  void apply(std::vector<std::string>& parts) const override {
    for (std::string& part : parts) {
      std::string_view rest = part;
      for (int64_t i = 0; i < start_ && rest.starts_with(content_); ++i)
        rest.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i)
        rest.remove_suffix(content_.size());
      part = std::string(rest);
    }
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 40;
  std::string content_;
  int64_t start_;
  int64_t stop_;
};

}  // namespace

std::unique_ptr<TokenDecoder> make_byte_fallback_decoder() {
  return std::make_unique<ByteFallback>();
}

std::unique_ptr<TokenDecoder> read_byte_decoder(const JsonNode& node) {
  const std::string type = node.type();
  if (type == "ByteLevel") {
    // All three concern encoding.
    node.only_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(node);
  if (type == "Strip") return std::make_unique<StripDecoder>(node);
  if (type != "Fuse" && type != "ByteFallback") return nullptr;
  node.only_keys({"type"});
  if (type == "Fuse") return std::make_unique<Fuse>();
  return make_byte_fallback_decoder();
}

}  // namespace titan

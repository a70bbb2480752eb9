// SPDX-License-Identifier: BSD-3-Clause
// A JSON file as a tree whose every error names the file, the path inside it
// and the value found. Tokenizer files are untrusted: depth is bounded,
// duplicate keys are refused, and nothing is converted in silence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace titan {

/// A value of a JsonFile, which must outlive it, or the absence of one.
class JsonNode {
 public:
  bool is_null() const;  ///< null, or not there at all.
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_boolean() const;
  bool is_integer() const;

  /// The member `key`; a null node where there is none. UserError: this is
  /// neither an object nor null.
  JsonNode operator[](std::string_view key) const;
  bool has(std::string_view key) const;

  // Each is a UserError unless the value is of the kind.
  std::vector<JsonNode> items() const;
  std::vector<std::pair<std::string, JsonNode>> members() const;
  const std::string& string() const;
  bool boolean() const;
  int64_t integer(int64_t low, int64_t high) const;
  double number() const;
  /// The value, or `otherwise` for a null node.
  bool boolean_or(bool otherwise) const;
  std::string string_or(std::string otherwise) const;

  /// The member `type` of an object, or what kind of value this is.
  std::string type() const;

  /// UserError where this (an object) has a key that is not in `known`.
  void only_keys(std::initializer_list<std::string_view> known) const;
  /// Throws UserError "[file: path] expected <expected>, got <value>".
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws UserError that `what` is not implemented.
  [[noreturn]] void refuse(std::string_view what) const;
  /// "file: path", the tag of messages about this value.
  std::string where() const;

 private:
  friend class JsonFile;
  struct Access;
  JsonNode(const std::string* file, std::string path, const void* value)
      : file_(file), path_(std::move(path)), value_(value) {}

  const std::string* file_;
  std::string path_;
  const void* value_;  // Of the JSON library; null where nothing is there.
};

/// Owns a parsed file.
class JsonFile {
 public:
  /// UserError: the file cannot be read or is not strict JSON.
  explicit JsonFile(const std::filesystem::path& path);
  /// The same for a text; `name` is for messages.
  JsonFile(std::string name, std::string_view json);
  ~JsonFile();
  JsonFile(JsonFile&&) noexcept;

  /// The whole file. Valid while this object is not moved from or destroyed.
  JsonNode root() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

/// Reads a whole file. UserError: it is not a readable regular file, or longer
/// than `max_bytes`.
std::string read_tokenizer_bytes(const std::filesystem::path& path,
                                 size_t max_bytes = size_t{1} << 30);

}  // namespace titan

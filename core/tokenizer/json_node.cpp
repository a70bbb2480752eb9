// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/json_node.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/strict_json.h"

namespace titan {
namespace {

using Json = nlohmann::json;

// The deepest file known (nested Sequence) has 9 levels.
constexpr int kMaxDepth = 32;
// A whole vocabulary in a message helps nobody.
constexpr size_t kMaxShownBytes = 80;

std::string shown(const Json& value) {
  if (value.is_structured()) return value.type_name();
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  if (text.size() > kMaxShownBytes)
    text.replace(kMaxShownBytes, std::string::npos, "...");
  return text;
}

std::string member_path(const std::string& path, std::string_view key) {
  const bool is_plain =
      !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c >= '0' && c <= '9') || c == '_';
      });
  if (!is_plain) return text(path, '[', shown(Json(std::string(key))), ']');
  return path.empty() ? std::string(key) : text(path, '.', key);
}

}  // namespace

struct JsonFile::Content {
  std::string name;
  Json json;
};

struct JsonNode::Access {
  static const Json& json(const JsonNode& node) {
    static const Json null;
    return node.value_ ? *static_cast<const Json*>(node.value_) : null;
  }
  static JsonNode child(const JsonNode& node,
                        std::string path,
                        const Json* value) {
    return {node.file_, std::move(path), value};
  }
};

bool JsonNode::is_null() const {
  return Access::json(*this).is_null();
}
bool JsonNode::is_object() const {
  return Access::json(*this).is_object();
}
bool JsonNode::is_array() const {
  return Access::json(*this).is_array();
}
bool JsonNode::is_string() const {
  return Access::json(*this).is_string();
}
bool JsonNode::is_boolean() const {
  return Access::json(*this).is_boolean();
}
bool JsonNode::is_integer() const {
  return Access::json(*this).is_number_integer();
}

JsonNode JsonNode::operator[](std::string_view key) const {
  const Json& json = Access::json(*this);
  if (!json.is_object() && !json.is_null()) fail("an object");
  const Json* value = nullptr;
  if (json.is_object()) {
    const auto found = json.find(key);
    if (found != json.end()) value = &*found;
  }
  return Access::child(*this, member_path(path_, key), value);
}

bool JsonNode::has(std::string_view key) const {
  const Json& json = Access::json(*this);
  return json.is_object() && json.contains(key);
}

std::vector<JsonNode> JsonNode::items() const {
  const Json& json = Access::json(*this);
  if (!json.is_array()) fail("an array");
  std::vector<JsonNode> nodes;
  nodes.reserve(json.size());
  for (const Json& value : json)
    nodes.push_back(
        Access::child(*this, text(path_, '[', nodes.size(), ']'), &value));
  return nodes;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  const Json& json = Access::json(*this);
  if (!json.is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonNode>> nodes;
  nodes.reserve(json.size());
  for (const auto& [key, value] : json.items())
    nodes.emplace_back(key,
                       Access::child(*this, member_path(path_, key), &value));
  return nodes;
}

const std::string& JsonNode::string() const {
  if (!is_string()) fail("a string");
  return Access::json(*this).get_ref<const std::string&>();
}

bool JsonNode::boolean() const {
  if (!is_boolean()) fail("true or false");
  return Access::json(*this).get<bool>();
}

int64_t JsonNode::integer(int64_t low, int64_t high) const {
  const Json& json = Access::json(*this);
  const bool is_huge =
      json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{1} << 62;
  const int64_t value =
      json.is_number_integer() && !is_huge ? json.get<int64_t>() : 0;
  if (!json.is_number_integer() || is_huge || value < low || value > high)
    fail(text("an integer from ", low, " to ", high));
  return value;
}

double JsonNode::number() const {
  if (!Access::json(*this).is_number()) fail("a number");
  return Access::json(*this).get<double>();
}

bool JsonNode::boolean_or(bool otherwise) const {
  return is_null() ? otherwise : boolean();
}

std::string JsonNode::string_or(std::string otherwise) const {
  if (is_null()) return otherwise;
  return string();
}

std::string JsonNode::type() const {
  const Json& json = Access::json(*this);
  if (!json.is_object()) return json.type_name();
  return (*this)["type"].is_string() ? (*this)["type"].string() : "object";
}

void JsonNode::only_keys(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : members())
    if (std::find(known.begin(), known.end(), key) == known.end())
      value.refuse("this key");
}

void JsonNode::fail(std::string_view expected) const {
  throw UserError(text('[',
                       where(),
                       "] expected ",
                       expected,
                       ", got ",
                       value_ ? shown(Access::json(*this)) : "nothing"));
}

void JsonNode::refuse(std::string_view what) const {
  throw UserError(text('[',
                       where(),
                       "] not implemented: ",
                       what,
                       ", got ",
                       shown(Access::json(*this))));
}

std::string JsonNode::where() const {
  return path_.empty() ? *file_ : text(*file_, ": ", path_);
}

std::string read_tokenizer_bytes(const std::filesystem::path& path,
                                 size_t max_bytes) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(path, error);
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(
      is_file && file, '[', path.string(), "] file cannot be read");
  const auto size = std::filesystem::file_size(path, error);
  TITAN_USER_CHECK(!error && size <= max_bytes,
                   '[',
                   path.string(),
                   "] file is too large: expected at most ",
                   max_bytes,
                   " bytes, got ",
                   size);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

JsonFile::JsonFile(const std::filesystem::path& path)
    : JsonFile(path.string(), read_tokenizer_bytes(path)) {}

JsonFile::JsonFile(std::string name, std::string_view json)
    : content_(std::make_unique<Content>()) {
  content_->name = std::move(name);
  checkpoint::require_strict_json(content_->name, json, kMaxDepth);
  content_->json = Json::parse(json.begin(), json.end());
}

JsonFile::~JsonFile() = default;
JsonFile::JsonFile(JsonFile&&) noexcept = default;

JsonNode JsonFile::root() const {
  return {&content_->name, "", &content_->json};
}

}  // namespace titan

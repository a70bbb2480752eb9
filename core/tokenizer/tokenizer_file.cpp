// SPDX-License-Identifier: BSD-3-Clause
// Reads the JSON of the two files. One class, because every check wants the
// same tag and the same table of token ids. Sections follow tokenizer.json.
#include "core/tokenizer/tokenizer_file.h"

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/tokenizer/tokenizer_config.h"

namespace titan {
namespace {

using Json = nlohmann::json;

// ByteLevel's own pattern (use_regex: true), from GPT-2's encoder.py.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
    R"(|\s+(?!\S)|\s+)";

Json parse_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  TITAN_USER_CHECK(file, '[', path.string(), "] file cannot be read");
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  try {
    Json json = Json::parse(bytes);
    TITAN_USER_CHECK(json.is_object(),
                     '[',
                     path.string(),
                     "] expected a JSON object, got ",
                     json.type_name());
    return json;
  } catch (const Json::exception& error) {
    throw UserError(text('[', path.string(), "] not JSON: ", error.what()));
  }
}

class Reader {
 public:
  explicit Reader(TokenizerFile& out) : out_(out) {}

  void read_tokenizer(const Json& json) {
    only_keys(json,
              "top level",
              {"version",
               "truncation",
               "padding",
               "added_tokens",
               "normalizer",
               "pre_tokenizer",
               "post_processor",
               "decoder",
               "model"});
    for (const char* key : {"truncation", "padding", "normalizer"})
      if (!member(json, key).is_null())
        refuse(key, describe(member(json, key)));
    read_model(member(json, "model"));
    read_added_tokens(member(json, "added_tokens"));
    read_pre_tokenizer(member(json, "pre_tokenizer"));
    read_post_processor(member(json, "post_processor"));
    read_decoder(member(json, "decoder"));
  }

  void read_config(const TokenizerConfig& config) {
    for (const AddedToken& token : config.added_tokens)
      add_config_token(token, config.name);
    SpecialTokens& special = out_.special = config.special;
    if (!config.says_bos) special.bos = infer(out_.template_before);
    if (!config.says_eos) special.eos = infer(out_.template_after);
    const auto resolve = [&](std::optional<SpecialToken>& token) {
      if (!token || token->id) return;
      const auto found = ids_.find(token->content);
      if (found != ids_.end()) token->id = found->second;
    };
    for (auto* token : {&special.bos,
                        &special.eos,
                        &special.unk,
                        &special.sep,
                        &special.pad,
                        &special.cls,
                        &special.mask})
      resolve(*token);
    for (SpecialToken& token : special.additional) {
      const auto found = ids_.find(token.content);
      if (found != ids_.end()) token.id = found->second;
    }
    require_id(special.bos, "bos_token", config.name);
    require_id(special.eos, "eos_token", config.name);
  }

 private:
  static const Json& member(const Json& json, const char* key) {
    static const Json null;
    const auto found = json.find(key);
    return found == json.end() ? null : *found;
  }

  static std::string describe(const Json& component) {
    const Json& type =
        component.is_object() ? member(component, "type") : component;
    return type.is_string() ? type.get<std::string>()
                            : std::string(component.type_name());
  }

  template <typename... Parts>
  [[noreturn]] void fail(const std::string& where,
                         const Parts&... parts) const {
    throw UserError(text('[', out_.name, ": ", where, "] ", parts...));
  }

  [[noreturn]] void refuse(const std::string& where,
                           const std::string& what) const {
    fail(where, "this component is not implemented: ", what);
  }

  void only_keys(const Json& json,
                 const std::string& where,
                 std::initializer_list<const char*> known) const {
    for (const auto& [key, value] : json.items()) {
      bool is_known = false;
      for (const char* name : known) is_known |= key == name;
      if (!is_known) refuse(where, "key " + key);
    }
  }

  const Json& object(const Json& json, const std::string& where) const {
    if (!json.is_object())
      fail(where, "expected an object, got ", json.type_name());
    return json;
  }

  const Json& array(const Json& json, const std::string& where) const {
    if (!json.is_array())
      fail(where, "expected an array, got ", json.type_name());
    return json;
  }

  std::string string(const Json& json, const std::string& where) const {
    if (!json.is_string())
      fail(where, "expected a string, got ", json.type_name());
    return json.get<std::string>();
  }

  bool flag(const Json& json, const char* key, const std::string& where) const {
    const Json& value = member(json, key);
    if (value.is_null()) return false;
    if (!value.is_boolean())
      fail(where, key, ": expected true or false, got ", value.type_name());
    return value.get<bool>();
  }

  int32_t token_id(const Json& json, const std::string& where) const {
    if (!json.is_number_integer())
      fail(where, "expected a token id, got ", json.type_name());
    const bool is_in_range =
        json.is_number_unsigned()
            ? json.get<uint64_t>() <= static_cast<uint64_t>(kMaxTokenId)
            : json.get<int64_t>() >= 0;
    if (!is_in_range)
      fail(where,
           "token id: expected 0 to ",
           kMaxTokenId,
           ", got ",
           json.dump());
    return json.get<int32_t>();
  }

  int32_t id_of(const std::string& token, const std::string& where) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) fail(where, "no such token: ", token);
    return found->second;
  }

  void add_id(const std::string& token, int32_t id, const std::string& where) {
    if (!used_.insert(id).second)
      fail(where, "token id is used twice: ", id, " by ", token);
    ids_.emplace(token, id);
  }

  // model ---------------------------------------------------------------

  void read_model(const Json& model) {
    object(model, "model");
    // Files of before tokenizers 0.9 have no type; vocab + merges is BPE.
    const Json& type = member(model, "type");
    if (!type.is_null() && type != "BPE") refuse("model", describe(model));
    only_keys(model,
              "model",
              {"type",
               "dropout",
               "unk_token",
               "continuing_subword_prefix",
               "end_of_word_suffix",
               "fuse_unk",
               "byte_fallback",
               "ignore_merges",
               "vocab",
               "merges"});
    for (const char* key :
         {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = member(model, key);
      if (!value.is_null() && value != "" && value != 0) refuse("model", key);
    }
    if (flag(model, "byte_fallback", "model")) refuse("model", "byte_fallback");
    out_.ignore_merges = flag(model, "ignore_merges", "model");
    read_vocabulary(object(member(model, "vocab"), "model.vocab"));
    read_merges(array(member(model, "merges"), "model.merges"));
  }

  void read_vocabulary(const Json& vocab) {
    ids_.reserve(vocab.size());
    for (const auto& [token, id] : vocab.items()) {
      if (token.empty()) fail("model.vocab", "a token is the empty text");
      out_.vocabulary.emplace_back(token, token_id(id, "model.vocab"));
      add_id(token, out_.vocabulary.back().second, "model.vocab");
    }
  }

  void read_merges(const Json& merges) {
    out_.merges.reserve(merges.size());
    for (const Json& merge : merges) {
      const auto [left, right] = split_merge(merge);
      out_.merges.push_back({id_of(left, "model.merges"),
                             id_of(right, "model.merges"),
                             id_of(left + right, "model.merges")});
    }
  }

  // Both spellings: ["a", "b"], and the older "a b".
  std::pair<std::string, std::string> split_merge(const Json& merge) const {
    if (merge.is_array() && merge.size() == 2)
      return {string(merge[0], "model.merges"),
              string(merge[1], "model.merges")};
    const std::string both = string(merge, "model.merges");
    const size_t space = both.find(' ');
    if (space == std::string::npos || both.find(' ', space + 1) != both.npos)
      fail("model.merges", "expected two tokens and one space, got ", both);
    return {both.substr(0, space), both.substr(space + 1)};
  }

  // added_tokens --------------------------------------------------------

  void read_added_tokens(const Json& tokens) {
    if (tokens.is_null()) return;
    std::unordered_set<std::string> seen;
    for (const Json& json : array(tokens, "added_tokens")) {
      const AddedToken token = read_added_token(json);
      if (!seen.insert(token.content).second)
        fail("added_tokens", "listed twice: ", token.content);
      const auto found = ids_.find(token.content);
      if (found == ids_.end())
        add_id(token.content, token.id, "added_tokens");
      else if (found->second != token.id)
        fail("added_tokens",
             "id of ",
             token.content,
             ": expected ",
             found->second,
             " (model.vocab), got ",
             token.id);
      out_.added_tokens.push_back(token);
    }
  }

  AddedToken read_added_token(const Json& json) const {
    const std::string where = "added_tokens";
    object(json, where);
    only_keys(json,
              where,
              {"id",
               "content",
               "single_word",
               "lstrip",
               "rstrip",
               "normalized",
               "special"});
    AddedToken token;
    token.id = token_id(member(json, "id"), where);
    token.content = string(member(json, "content"), where);
    if (token.content.empty()) fail(where, "content is the empty text");
    token.single_word = flag(json, "single_word", where);
    token.lstrip = flag(json, "lstrip", where);
    token.rstrip = flag(json, "rstrip", where);
    token.normalized = flag(json, "normalized", where);
    token.special = flag(json, "special", where);
    return token;
  }

  // pre_tokenizer -------------------------------------------------------

  void read_pre_tokenizer(const Json& json) {
    const std::string where = "pre_tokenizer";
    if (json.is_null()) refuse(where, "none (byte-level BPE needs ByteLevel)");
    const Json& list = describe(json) == "Sequence"
                           ? array(member(json, "pretokenizers"), where)
                           : Json::array({json});
    bool has_byte_level = false;
    for (const Json& item : list) {
      if (has_byte_level) refuse(where, describe(item) + " after ByteLevel");
      if (describe(item) == "Split")
        read_split(item, where);
      else if (describe(item) == "ByteLevel")
        has_byte_level = read_byte_level(item, where);
      else
        refuse(where, describe(item));
    }
    if (!has_byte_level) refuse(where, "a sequence without ByteLevel");
  }

  void read_split(const Json& split, const std::string& where) {
    only_keys(split, where, {"type", "pattern", "behavior", "invert"});
    if (member(split, "behavior") != "Isolated")
      refuse(where,
             "Split with behavior " + describe(member(split, "behavior")));
    if (flag(split, "invert", where)) refuse(where, "Split with invert");
    const Json& pattern = object(member(split, "pattern"), where);
    if (!pattern.contains("Regex")) refuse(where, "Split without Regex");
    out_.split_patterns.push_back(string(member(pattern, "Regex"), where));
  }

  // trim_offsets concerns offsets, which we do not report.
  bool read_byte_level(const Json& json, const std::string& where) {
    only_keys(
        json, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (flag(json, "add_prefix_space", where))
      refuse(where, "ByteLevel with add_prefix_space");
    // Absent means true, in files older than the key.
    if (!json.contains("use_regex") || flag(json, "use_regex", where))
      out_.split_patterns.push_back(kGpt2Pattern);
    return true;
  }

  // post_processor and decoder --------------------------------------------

  void read_post_processor(const Json& json) {
    const std::string where = "post_processor";
    if (json.is_null()) return;
    const Json& list = describe(json) == "Sequence"
                           ? array(member(json, "processors"), where)
                           : Json::array({json});
    bool has_template = false;
    for (const Json& item : list) {
      if (describe(item) == "ByteLevel") continue;  // Changes offsets only.
      if (describe(item) != "TemplateProcessing" || has_template)
        refuse(where, describe(item));
      has_template = true;
      read_template(item, where);
    }
  }

  void read_template(const Json& json, const std::string& where) {
    const Json& known = member(json, "special_tokens");
    bool has_text = false;
    for (const Json& item : array(member(json, "single"), where)) {
      object(item, where);
      if (item.contains("Sequence")) {
        if (has_text) refuse(where, "a template with two sequences");
        has_text = true;
        continue;
      }
      const Json& special = object(member(item, "SpecialToken"), where);
      const std::string name = string(member(special, "id"), where);
      const Json& entry = member(object(known, where), name.c_str());
      auto& side = has_text ? out_.template_after : out_.template_before;
      for (const Json& id : array(member(object(entry, where), "ids"), where))
        side.push_back(existing_id(id, where));
    }
    if (!has_text) refuse(where, "a template without a sequence");
  }

  int32_t existing_id(const Json& json, const std::string& where) const {
    const int32_t id = token_id(json, where);
    if (!used_.contains(id)) fail(where, "no token has this id: ", id);
    return id;
  }

  void read_decoder(const Json& json) const {
    if (describe(json) != "ByteLevel") refuse("decoder", describe(json));
  }

  std::optional<SpecialToken> infer(const std::vector<int32_t>& ids) const {
    if (ids.size() != 1) return std::nullopt;
    for (const auto& [content, id] : ids_)
      if (id == ids[0]) return SpecialToken{content, id};
    return std::nullopt;
  }

  // Config --------------------------------------------------------------

  static void require_id(const std::optional<SpecialToken>& token,
                         const char* key,
                         const std::string& name) {
    TITAN_USER_CHECK(!token || token->id,
                     '[',
                     name,
                     ": ",
                     key,
                     "] no such token: ",
                     token ? token->content : "");
  }

  // As transformers does: what tokenizer.json lacks is added, and the flags of
  // the config win.
  void add_config_token(const AddedToken& token, const std::string& name) {
    const auto found = ids_.find(token.content);
    const bool is_new = found == ids_.end() && !used_.contains(token.id);
    TITAN_USER_CHECK(
        is_new || (found != ids_.end() && found->second == token.id),
        '[',
        name,
        ": added_tokens_decoder] token ",
        token.id,
        " is not the one that tokenizer.json has: ",
        token.content);
    if (is_new) add_id(token.content, token.id, "added_tokens_decoder");
    for (AddedToken& known : out_.added_tokens)
      if (known.id == token.id) {
        known = token;
        return;
      }
    out_.added_tokens.push_back(token);
  }

  TokenizerFile& out_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_set<int32_t> used_;
};

}  // namespace

TokenizerFile read_tokenizer_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "tokenizer.json";
  TITAN_USER_CHECK(std::filesystem::is_regular_file(path),
                   "[tokenizer] no tokenizer.json in ",
                   folder.string(),
                   ". Give a folder that has one, or \"bytes\"");
  TokenizerFile file;
  file.name = path.string();
  Reader reader(file);
  reader.read_tokenizer(parse_file(path));
  reader.read_config(read_tokenizer_config(folder));
  return file;
}

}  // namespace titan

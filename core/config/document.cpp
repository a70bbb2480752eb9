// SPDX-License-Identifier: BSD-3-Clause
// Event handler and the checks that come before yaml-cpp sees the text.
#include "core/config/document.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <titan/error.h>

#include "core/config/scalar.h"
#include "core/config/yaml_text.h"

namespace titan::config {
namespace {

[[noreturn]] void refuse(const Origin& at, const std::string& what) {
  throw UserError(text(at.describe(), ": [yaml] ", what));
}

// yaml-cpp takes a quote that is never closed as closed by the end of the
// text, unless more text follows: so a last comment line does.
std::string with_last_comment(std::string clean) {
  if (!clean.ends_with('\n')) clean.push_back('\n');
  return clean.append("#");
}

// yaml-cpp's words for the faults people make, in ours.
std::string explain_syntax_error(const std::string& message) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"illegal map value",
       "':' where no key can start: expected one `key: value` per line, "
       "indented with spaces. Put text that holds ': ' in quotes."},
      {"end of map not found",
       "line does not fit the map it is in: expected `key: value` at the "
       "same indentation as the line before"},
      {"end of sequence flow not found", "list is not closed: expected ']'"},
      {"end of map flow not found", "map is not closed: expected '}'"},
      {"illegal EOF in scalar",
       "quote is not closed: expected it before the file ends"},
      {"illegal tab when looking for indentation",
       "tab in indentation: expected spaces"},
      {"unknown token",
       "character cannot start a value. Put the text in quotes."},
      {"the referenced anchor is not defined",
       "alias names an anchor that is not defined above it"},
  };
  for (const auto& [theirs, ours] : kKnown) {
    if (message == theirs) return std::string(ours);
  }
  return message;
}

struct Measure {
  std::size_t nodes = 1;
  std::size_t depth = 1;
};

Measure measure(const Value& value) {
  Measure total;
  const auto add = [&](const Value& child) {
    const Measure inner = measure(child);
    total.nodes += inner.nodes;
    total.depth = std::max(total.depth, inner.depth + 1);
  };
  if (value.is_list()) {
    for (const Value& item : value.as_list()) add(item);
  } else if (value.is_map()) {
    for (const auto& entry : value.as_map()) add(entry.value);
  }
  return total;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& name, const DocumentLimits& limits)
      : source_(std::make_shared<const std::string>(name)), limits_(limits) {}

  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      refuse(at(mark), "file holds several documents: expected one");
  }
  void OnDocumentEnd() override {}  // the root is complete by then

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(std::move(Value().with_origin(at(mark))), anchor, false);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end())
      refuse(at(mark), "alias refers to the node that holds it");
    const Measure size = measure(it->second);
    count_copied(size.nodes, mark);
    if (open_.size() + size.depth > limits_.depth) refuse_depth(mark);
    add(it->second, 0, false);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& text) override {
    if (is_key_next() && tag == "?" && text == "<<") return start_merge(mark);
    // A key is text whatever it looks like: `1: x` has the key "1".
    const bool is_text = is_key_next() || tag == "!";
    Value value = is_text ? Value(text) : resolve(text, tag, at(mark));
    add(std::move(value.with_origin(at(mark))), anchor, true);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(tag, "tag:yaml.org,2002:seq", mark);
    open(Value(Value::List{}), mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(tag, "tag:yaml.org,2002:map", mark);
    open(Value::empty_map(), mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool is_merge = false;  // the value to come belongs to `<<`
    std::string key;
    Origin key_origin;
    Origin merge_origin;
    Value merged;  // what `<<` named: null until seen
    std::unordered_map<std::string, Origin> keys;
  };

  Origin at(const YAML::Mark& mark) const {
    return {Origin::Kind::kFile, mark.line + 1, mark.column + 1, source_};
  }

  bool is_key_next() const {
    return !open_.empty() && open_.back().value.is_map() &&
           !open_.back().has_key;
  }

  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    refuse(at(mark),
           text("document is nested too deeply: expected at most ",
                limits_.depth,
                " levels"));
  }

  void count_copied(std::size_t nodes, const YAML::Mark& mark) {
    copied_ += nodes;
    if (copied_ > limits_.alias_nodes)
      refuse(at(mark),
             text("aliases copy too much: expected at most ",
                  limits_.alias_nodes,
                  " nodes"));
  }

  void check_tag(const std::string& tag,
                 std::string_view expected,
                 const YAML::Mark& mark) const {
    if (tag != "?" && tag != "!" && tag != expected)
      refuse(at(mark),
             text("tag does not fit: expected ", expected, ", got ", tag));
  }

  Value resolve(const std::string& text,
                const std::string& tag,
                const Origin& origin) const {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag == "?") return resolve_plain_scalar(text, origin);
    if (tag == text_tag()) return Value(text);
    Value value = resolve_plain_scalar(text, origin);
    const auto is = [&](std::string_view name) {
      return tag.starts_with(kCore) && tag.substr(kCore.size()) == name;
    };
    if ((is("int") && value.is_integer()) ||
        (is("bool") && value.is_boolean()) || (is("null") && value.is_null()))
      return value;
    if (is("float") && value.is_number()) return Value(value.as_number());
    refuse(origin,
           titan::text("tag does not fit the value: expected a value of type ",
                       tag,
                       ", got ",
                       describe_value(value)));
  }

  static std::string_view text_tag() { return "tag:yaml.org,2002:str"; }

  void start_merge(const YAML::Mark& mark) {
    Open& map = open_.back();
    note_key(map, "<<", at(mark));
    map.has_key = true;
    map.is_merge = true;
    map.merge_origin = at(mark);
  }

  void note_key(Open& map, const std::string& key, const Origin& origin) {
    const auto [it, is_new] = map.keys.emplace(key, origin);
    if (is_new) return;
    refuse(origin,
           text("duplicate key: ",
                quote(key),
                " is already at line ",
                it->second.line,
                ", again at line ",
                origin.line,
                ". Keep one of the two."));
  }

  void open(Value container, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (is_key_next())
      refuse(at(mark),
             "key is a list or a map: expected text. If it is "
             "meant as a value, a bracket is not closed.");
    if (open_.size() >= limits_.depth) refuse_depth(mark);
    Open level;
    level.value = std::move(container.with_origin(at(mark)));
    level.anchor = anchor;
    open_.push_back(std::move(level));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.merged.is_list()) apply_merge(done);
    add(std::move(done.value), done.anchor, false);
  }

  // Appends what `<<` brought and the map does not say itself.
  void apply_merge(Open& map) {
    for (const Value& source : map.merged.as_list()) {
      for (const auto& entry : source.as_map()) {
        if (map.keys.emplace(entry.key, entry.key_origin).second)
          map.value.as_map().push_back(entry);
      }
    }
  }

  void take_merge(Open& map, Value value) {
    Value::List sources;
    if (value.is_list()) {
      sources = std::move(value.as_list());
    } else {
      sources.push_back(std::move(value));
    }
    for (const Value& source : sources) {
      if (!source.is_map())
        refuse(map.merge_origin,
               text("merge key << needs maps: expected a map or a list of "
                    "maps, got ",
                    describe_value(source)));
    }
    map.merged = Value(std::move(sources));
    map.has_key = map.is_merge = false;
  }

  void add(Value value, YAML::anchor_t anchor, bool is_scalar) {
    if (++nodes_ > limits_.nodes)
      refuse(value.origin(),
             text("document is too large: expected at most ",
                  limits_.nodes,
                  " nodes"));
    if (anchor != 0) anchors_[anchor] = value;
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.is_list()) {
      parent.value.as_list().push_back(std::move(value));
    } else if (!parent.has_key) {
      take_key(parent, value, is_scalar);
    } else if (parent.is_merge) {
      take_merge(parent, std::move(value));
    } else {
      parent.value.as_map().push_back({std::move(parent.key),
                                       std::move(parent.key_origin),
                                       std::move(value)});
      parent.has_key = false;
    }
  }

  void take_key(Open& map, const Value& key, bool is_scalar) {
    if (!is_scalar && !key.is_string())
      refuse(
          key.origin(),
          text("key is not text: expected a name, got ", describe_value(key)));
    if (key.as_string().size() > limits_.key_bytes)
      refuse(key.origin(),
             text("key is too long: expected at most ",
                  limits_.key_bytes,
                  " bytes, got ",
                  key.as_string().size()));
    note_key(map, key.as_string(), key.origin());
    map.key = key.as_string();
    map.key_origin = key.origin();
    map.has_key = true;
  }

  std::shared_ptr<const std::string> source_;
  DocumentLimits limits_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Value> anchors_;
  Value root_;
  std::size_t nodes_ = 0;
  std::size_t copied_ = 0;
  int documents_ = 0;
};

}  // namespace

Value parse_yaml(std::string_view yaml,
                 const std::string& name,
                 const DocumentLimits& limits) {
  const std::string clean =
      with_last_comment(clean_yaml_text(yaml, name, limits.size_bytes));
  TreeBuilder builder(name, limits);
  try {
    std::istringstream stream(clean);
    YAML::Parser parser(stream);
    TITAN_USER_CHECK(parser.HandleNextDocument(builder),
                     name,
                     ":1:1: [yaml] file is empty: expected a map of sections");
    // The second document, if any, is refused at its start.
    parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
    refuse(file_origin(name, line, column), explain_syntax_error(error.msg));
  }
  return builder.take();
}

Value read_yaml_file(const std::string& path, const DocumentLimits& limits) {
  std::error_code error;
  TITAN_USER_CHECK(std::filesystem::exists(path, error),
                   "[",
                   path,
                   "] file does not exist: expected a YAML file");
  TITAN_USER_CHECK(std::filesystem::is_regular_file(path, error),
                   "[",
                   path,
                   "] not a file: expected a YAML file");
  std::ifstream stream(path, std::ios::binary);
  std::string content(limits.size_bytes + 1, '\0');
  stream.read(content.data(), static_cast<std::streamsize>(content.size()));
  TITAN_USER_CHECK(stream.is_open() && !stream.bad(),
                   "[",
                   path,
                   "] file cannot be read. Check its permissions.");
  content.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_yaml(content, path, limits);
}

}  // namespace titan::config

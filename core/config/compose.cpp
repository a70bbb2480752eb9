// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/compose.h"

#include <algorithm>
#include <filesystem>

#include <titan/error.h>

#include "core/config/document.h"
#include "core/config/merge.h"
#include "core/config/scalar.h"

namespace titan::config {
namespace {

namespace fs = std::filesystem;

// Longer chains are a mistake; the number only has to stop one.
constexpr std::size_t kMaxExtends = 16;
// Diamonds are read once per way to them, which could double per level.
constexpr std::size_t kMaxFiles = 256;

std::string identity(const std::string& file) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(file, error);
  return error ? file : path.string();
}

class Composer {
 public:
  explicit Composer(const Schema& schema) : schema_(schema) {}

  Value load(const std::string& file, const Origin& from) {
    enter(file, from);
    Value own = read_yaml_file(file);
    if (!own.is_map()) {
      throw UserError(text(own.origin().describe(),
                           ": [recipe] file holds no map: expected sections, "
                           "got ",
                           describe_value(own)),
                      code::kType);
    }
    expand_shorthands(schema_, own);
    Value merged = Value::empty_map();
    for (const Value& base : extended_files(own)) {
      const fs::path path = fs::path(file).parent_path() / base.as_string();
      merge_into(merged,
                 load(path.lexically_normal().string(), base.origin()),
                 "",
                 problems);
    }
    own.erase("extends");
    merge_into(merged, own, "", problems);
    chain_.pop_back();
    return merged;
  }

  std::vector<Problem> problems;
  std::vector<std::string> files;

 private:
  void enter(const std::string& file, const Origin& from) {
    const std::string id = identity(file);
    const auto is_same = [&](const std::string& other) {
      return identity(other) == id;
    };
    if (std::any_of(chain_.begin(), chain_.end(), is_same)) {
      std::string shown;
      for (const std::string& link : chain_) shown += link + " -> ";
      refuse(from, text("files extend each other in a circle: ", shown, file));
    }
    if (chain_.size() >= kMaxExtends || ++num_loads_ > kMaxFiles)
      refuse(from, "too many files extend each other");
    std::error_code error;
    if (!chain_.empty() && !fs::exists(file, error))
      refuse(from, text("file does not exist: ", file));
    chain_.push_back(file);
    if (std::none_of(files.begin(), files.end(), is_same))
      files.push_back(file);
  }

  [[noreturn]] static void refuse(const Origin& from, const std::string& what) {
    throw UserError(text(from.describe(), ": [extends] ", what));
  }

  static Value::List extended_files(const Value& own) {
    const Value* extends = own.find("extends");
    if (extends == nullptr || extends->is_null()) return {};
    const auto is_string = [](const Value& item) { return item.is_string(); };
    if (!extends->is_list() ||
        !std::all_of(
            extends->as_list().begin(), extends->as_list().end(), is_string))
      throw UserError(text(extends->origin().describe(),
                           ": [extends] value has the wrong type: expected a "
                           "list of files, got ",
                           describe_value(*extends)),
                      code::kType);
    return extends->as_list();
  }

  const Schema& schema_;
  std::vector<std::string> chain_;
  std::size_t num_loads_ = 0;
};

Value parse_override_value(const std::string& content, const Origin& origin) {
  const std::string where = origin.describe();
  const bool is_yaml =
      !content.empty() &&
      std::string_view("[{'\"").find(content[0]) != std::string_view::npos;
  Value value = is_yaml ? parse_yaml(content, where)
                        : resolve_plain_scalar(content, origin);
  value.set_origin_everywhere(origin);
  return value;
}

void apply_override(Value& root,
                    const std::string& content,
                    int number,
                    const Schema& schema,
                    std::vector<Problem>& problems) {
  const Origin origin{Origin::Kind::kOverride,
                      number,
                      0,
                      std::make_shared<const std::string>(content)};
  const auto equals = content.find('=');
  TITAN_USER_CHECK(equals != std::string::npos && equals > 0,
                   origin.describe(),
                   ": [",
                   content,
                   "] override has no value: expected KEY=VALUE, for example "
                   "training.steps=10");
  const std::string path = content.substr(0, equals);
  TITAN_USER_CHECK(path != "extends" && !path.starts_with("extends["),
                   origin.describe(),
                   ": [extends] files are extended in recipes only. Write a "
                   "recipe that extends both.");
  Value value = parse_override_value(content.substr(equals + 1), origin);
  if (path.find('[') != std::string::npos) {
    set_at_path(root, path, value, problems);
    return;
  }
  // As a layer of its own, because shorthands are expanded per layer.
  Value layer = Value::empty_map();
  layer.with_origin(root.origin());
  set_at_path(layer, path, value, problems);
  expand_shorthands(schema, layer);
  merge_into(root, layer, "", problems);
}

}  // namespace

Composition compose_recipe(const std::string& file,
                           const std::vector<std::string>& overrides,
                           const Schema& schema) {
  Composer composer(schema);
  Composition out;
  out.file = file;
  out.name = fs::path(file).stem().string();
  out.root = composer.load(file, {});
  for (std::size_t i = 0; i < overrides.size(); ++i)
    apply_override(out.root,
                   overrides[i],
                   static_cast<int>(i + 1),
                   schema,
                   composer.problems);
  throw_if_any(composer.problems);
  out.files = std::move(composer.files);
  return out;
}

}  // namespace titan::config

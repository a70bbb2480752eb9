// SPDX-License-Identifier: BSD-3-Clause
// config.json both ways, by a layout (layouts.h). The layout "titan" has no
// family: config.json then carries our options.
#include <algorithm>
#include <string>

#include "plugins/models/gpt/layouts.h"
#include "plugins/models/gpt/model.h"
#include "plugins/models/layers/decoder_hf.hpp"
#include "plugins/models/layers/options.hpp"

namespace titan::gpt {
namespace {

using layers::default_of;
using layers::each_option;
using layers::find_option;
using layers::is_equal;
using layers::set_option;

constexpr std::string_view kOwnType = "titan_gpt";
constexpr std::string_view kActivations = "feed_forward.activation";

// transformers' name, ours; an export takes the first of ours.
constexpr std::pair<std::string_view, std::string_view> kActivationNames[] = {
    {"silu", "silu"},
    {"swish", "silu"},
    {"gelu", "gelu"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_fast", "gelu_tanh"},
    {"quick_gelu", "gelu_quick"},
    {"relu", "relu"},
    {"relu2", "relu_squared"}};

// ---- config.json ----

/// An entry of a layout's "config".
struct Entry {
  explicit Entry(const Json& entry) : json(entry) {}
  const std::string& key() const { return json.at(size_t{0}).str(); }
  const Json& otherwise() const { return json.at(size_t{1}); }
  bool knows(std::string_view theirs) const {
    return values() != nullptr && values()->find(theirs) != nullptr;
  }
  const Json* values() const {
    return json.size() > 2 ? &json.items()[2] : nullptr;
  }
  const Json& json;
};

Json activation_from_hf(const std::string& name) {
  for (const auto& [theirs, ours] : kActivationNames)
    if (theirs == name) return ours;
  throw UserError(
      text("[config.json] activation is not known: expected silu, gelu, "
           "gelu_pytorch_tanh, gelu_new, quick_gelu, relu or relu2, got ",
           name));
}

Json activation_to_hf(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kActivationNames),
                   std::end(kActivationNames),
                   [&](const auto& pair) { return pair.second == name; });
  return found->first;
}

Json option_from_hf(const Json& hf,
                    const std::string& path,
                    const Entry& entry,
                    const Json& theirs) {
  if (entry.values() != nullptr) {
    if (const Json* const ours = entry.values()->find(theirs.dump()))
      return *ours;
    for (const auto& [name, ours] : entry.values()->members())
      if (theirs.is_number() && is_equal(theirs, ours))
        layers::HfConfig(hf).refuse(entry.key(), "is written otherwise", name);
  }
  return path == kActivations ? activation_from_hf(theirs.str()) : theirs;
}

Json option_to_hf(const std::string& path,
                  const Entry& entry,
                  const Json& ours) {
  if (entry.values() != nullptr)
    for (const auto& [theirs, value] : entry.values()->members())
      if (is_equal(value, ours)) return Json::parse(theirs);
  return path == kActivations ? activation_to_hf(ours.str()) : ours;
}

void check_required(const Json& layout, const Json& hf) {
  for (const auto& [key, value] : layout.at("require").members())
    if (hf.has(key))
      layers::HfConfig(hf).require(key, value, "is not supported");
}

/// What config.json has at the entry's key. Null is as absent where
/// transformers makes a list itself, else a value of those that may have it.
const Json& theirs_at(const Json& hf, const Entry& entry) {
  const Json& otherwise = entry.otherwise();
  const Json* const found = hf.find(entry.key());
  if (found == nullptr || (found->is_null() && otherwise.is_array()))
    return otherwise;
  const bool may_be_null = otherwise.is_null() || entry.knows("null");
  const bool is_right = found->is_null()
                            ? may_be_null
                            : otherwise.is_null() ||
                                  found->kind() == otherwise.kind() ||
                                  (found->is_int() && otherwise.is_number());
  if (!is_right)
    layers::HfConfig(hf).refuse(
        entry.key(), "is of another kind", otherwise.kind());
  return *found;
}

/// config.json with keys by one name, where the family knows two.
Json with_one_name(const Json& layout, const Json& hf) {
  Json out = hf;
  if (!layout.has("aliases")) return out;
  for (const auto& [alias, key] : layout.at("aliases").members()) {
    if (!hf.has(alias)) continue;
    const std::string& name = key.str();
    out[name] = layers::HfConfig(hf).i64_named(name, alias, 0);
  }
  return out;
}

/// Refuses what the network of a rope, or the length of a list, cannot be.
void check_shape(const Json& layout, const Json& hf, const Json& options) {
  const layers::HfConfig config(hf);
  const Json* const types = find_option(options, "attention.layer_types");
  const int64_t num_layers = options.at("num_layers").i64();
  if (config.has("layer_types") && types != nullptr &&
      static_cast<int64_t>(types->size()) != num_layers)
    config.refuse("layer_types", "one for each block", text(num_layers));
  if (layout.has("rope") && layout.at("config").find("head_dim") == nullptr &&
      config.has("head_dim") && options.at("num_heads").i64() > 0)
    config.require("head_dim",
                   options.at("dim").i64() / options.at("num_heads").i64(),
                   "heads share the model's dims");
}

/// The "rope" section. Some families have other names for its values.
Json rope_section(const Json& layout, const Json& json, int64_t max_position) {
  const layers::HfConfig hf(json);
  const Json& rope = layout.at("rope");
  Json out = layers::rope_from_hf(hf,
                                  rope.at("theta").f64(),
                                  max_position,
                                  rope.str_or("theta_key", "rope_theta"));
  if (rope.has("fraction"))
    out["fraction"] = layers::turned_part(
        hf, rope.at("fraction").f64(), rope.at("fraction_key").str());
  else
    layers::check_whole_heads_turn(hf);
  return out;
}

bool is_free(const std::string& path, const Json& layout) {
  if (layout.at("config").find(path) != nullptr) return true;
  const bool has_rope = layout.has("rope");
  if (path == "rope.pairs") return !has_rope;
  if (path == "rope.fraction")
    return !has_rope || layout.at("rope").has("fraction");
  if (path == "rope.sliding_theta") return !has_rope;
  return path.starts_with("init.") || path.starts_with("hf.") ||
         path.starts_with("rope.") || path == "moe.balance_loss_coeff";
}

/// A network that config.json of this layout cannot describe must not be
/// written as one.
void check_fits(const Json& layout, const std::string& name, const Json& all) {
  const Json schema = Json::parse(kConfigSchema);
  const auto check = [&](const std::string& path, const Json& value) {
    if (is_free(path, layout)) return;
    const Json* const fixed = find_option(layout.at("options"), path);
    const Json expected = fixed != nullptr ? *fixed : default_of(schema, path);
    TITAN_USER_CHECK(is_equal(value, expected),
                     "[model.",
                     path,
                     "] hf.layout ",
                     name,
                     " does not have it: expected ",
                     expected.dump(),
                     ", got ",
                     value.dump(),
                     ". Set hf.layout to titan for another network.");
  };
  each_option(all, "", schema, check);
  if (const Json* const least = layout.find("least"))
    for (const auto& [path, number] : least->members())
      TITAN_USER_CHECK(find_option(all, path)->i64() >= number.i64(),
                       "[model.",
                       path,
                       "] hf.layout ",
                       name,
                       " is of a family that has them: expected at least ",
                       number.i64(),
                       ", got ",
                       find_option(all, path)->i64(),
                       ". Set hf.layout to titan for another network.");
}

/// The options with what null stands for, as config.json wants them.
Json resolved(const GptConfig& c) {
  Json out = c.json;
  out["num_kv_heads"] = c.num_kv_heads;
  out["head_dim"] = c.head_dim;
  out["hidden_dim"] = c.hidden_dim;
  if (find_option(out, "attention.scale_dim")->is_null())
    set_option(out, "attention.scale_dim", c.head_dim);
  Json types = Json::array();
  for (const int64_t window : c.windows)
    types.push_back(window > 0 ? "sliding_attention" : "full_attention");
  set_option(out, "attention.layer_types", types);
  return out;
}

}  // namespace

void check_layout(const GptConfig& c) {
  if (c.layout != kOwnLayout)
    check_fits(layout_named(c.layout), c.layout, c.json);
}

Json Gpt::config_from_hf(const Json& json) {
  const std::string type = json.at("model_type").str();
  if (type == kOwnType) return json.at(kOwnType);
  const Json layout = layout_named(type);
  const Json hf = with_one_name(layout, json);
  check_required(layout, hf);
  Json out = layout.at("options");
  for (const auto& [path, value] : layout.at("config").members()) {
    const Entry entry(value);
    const Json& theirs = theirs_at(hf, entry);
    if (theirs.is_null() && !entry.knows("null")) continue;
    set_option(out, path, option_from_hf(hf, path, entry, theirs));
  }
  check_shape(layout, hf, out);
  // Published files name a window beside blocks that are all full.
  const Json* const types = find_option(out, "attention.layer_types");
  if (types != nullptr &&
      types->dump().find("sliding_attention") == std::string::npos)
    set_option(out, "attention.window", {});
  if (layout.has("rope"))
    out["rope"] = rope_section(layout, hf, out.at("max_position").i64());
  set_option(out, "hf.layout", type);
  return out;
}

Json Gpt::config_to_hf() const {
  Json out = Json::object();
  if (config_.layout == kOwnLayout) {
    out["model_type"] = kOwnType;
    out["architectures"] = Json::array({"TitanGpt"});
    out[kOwnType] = config_.json;
    return out;
  }
  const Json layout = layout_named(config_.layout);
  if (layout.has("heads_divide_dim"))
    layers::check_heads_divide_dim(config_, config_.layout);
  const Json options = resolved(config_);
  out["model_type"] = layout.at("model_type");
  out["architectures"] = Json::array({layout.at("architecture")});
  for (const char* section : {"require", "write"})
    if (layout.has(section))
      for (const auto& [key, value] : layout.at(section).members())
        out[key] = value;
  for (const auto& [path, json] : layout.at("config").members()) {
    const Entry entry(json);
    const Json theirs = option_to_hf(path, entry, *find_option(options, path));
    TITAN_USER_CHECK(!out.has(entry.key()) || out.at(entry.key()) == theirs,
                     "[model.",
                     path,
                     "] config.json says it together with another option: "
                     "expected ",
                     out.at(entry.key()).dump(),
                     ", got ",
                     theirs.dump());
    out[entry.key()] = theirs;
  }
  if (!layout.has("rope")) return out;
  layers::RopeConfig turned = config_.rope;
  turned.attention_factor *= turned.magnitude;  // one of them is 1
  Json rope = layers::rope_to_hf(turned);
  const double fraction = find_option(options, "rope.fraction")->f64();
  if (layout.at("rope").has("fraction")) {
    rope["partial_rotary_factor"] = fraction;
    out["rotary_pct"] = fraction;  // and what transformers 4 reads
    out["rotary_emb_base"] = config_.rope.theta;
  }
  out["rope_theta"] = config_.rope.theta;
  if (config_.rope.scaling != "none") out["rope_scaling"] = rope;
  out["rope_parameters"] = std::move(rope);
  return out;
}

}  // namespace titan::gpt

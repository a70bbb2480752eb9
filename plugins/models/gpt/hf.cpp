// SPDX-License-Identifier: BSD-3-Clause
// config.json both ways, by a layout (layouts.h). The layout "titan" has no
// family: config.json then carries our options.
#include <algorithm>
#include <string>

#include "plugins/models/gpt/layouts.h"
#include "plugins/models/gpt/model.h"
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
  const Json* otherwise() const {
    return json.size() > 1 ? &json.items()[1] : nullptr;
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

Json option_from_hf(const std::string& path,
                    const Entry& entry,
                    const Json& theirs) {
  if (entry.values() != nullptr)
    if (const Json* const ours = entry.values()->find(theirs.dump()))
      return *ours;
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
    TITAN_USER_CHECK(!hf.has(key) || is_equal(hf.at(key), value),
                     "[config.json ",
                     key,
                     "] is not supported: expected ",
                     value.dump(),
                     ", got ",
                     hf.at(key).dump());
}

/// The "rope" section; partial_rotary_factor is where transformers 5 or 4 has
/// it, or rotary_pct as GPT-NeoX called it.
Json rope_section(const Json& layout, const Json& hf) {
  const Json& rope = layout.at("rope");
  const double theta = rope.at("theta").f64();
  Json out = layers::rope_from_hf(hf, hf.f64_or("rotary_emb_base", theta));
  const double otherwise =
      hf.f64_or("partial_rotary_factor",
                hf.f64_or("rotary_pct", rope.f64_or("fraction", 1)));
  const Json none;
  const Json* const parameters = hf.find("rope_parameters");
  out["fraction"] = (parameters != nullptr ? *parameters : none)
                        .f64_or("partial_rotary_factor", otherwise);
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

Json Gpt::config_from_hf(const Json& hf) {
  const std::string type = hf.at("model_type").str();
  if (type == kOwnType) return hf.at(kOwnType);
  const Json layout = layout_named(type);
  check_required(layout, hf);
  Json out = layout.at("options");
  for (const auto& [path, json] : layout.at("config").members()) {
    const Entry entry(json);
    const Json* theirs = hf.find(entry.key());
    if (theirs == nullptr) theirs = entry.otherwise();
    if (theirs == nullptr) continue;
    const Json ours = option_from_hf(path, entry, *theirs);
    if (!ours.is_null()) set_option(out, path, ours);
  }
  // Published files name a window beside blocks that are all full.
  const Json* const types = find_option(out, "attention.layer_types");
  if (types != nullptr &&
      types->dump().find("sliding_attention") == std::string::npos)
    set_option(out, "attention.window", {});
  if (layout.has("rope")) out["rope"] = rope_section(layout, hf);
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

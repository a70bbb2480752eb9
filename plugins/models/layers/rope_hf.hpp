// SPDX-License-Identifier: BSD-3-Clause
// Rotary position embedding in Hugging Face's config.json, both ways:
// rope_parameters and rope_scaling.
#pragma once

#include <string>
#include <string_view>

#include "plugins/models/layers/hf_config.hpp"
#include "plugins/models/layers/rope.hpp"

namespace titan::layers {

/// The rope's part of config.json: rope_scaling where it says anything, as
/// transformers takes it, else rope_parameters. `hf` must outlive it.
inline HfConfig rope_values(const HfConfig& hf) {
  static const Json kNone = Json::object();
  const Json* const scaling = hf.json().find("rope_scaling");
  const bool is_scaling = scaling != nullptr && scaling->size() > 0;
  const char* const name = is_scaling ? "rope_scaling" : "rope_parameters";
  const Json& values = hf.has(name) ? hf.json().at(name) : kNone;
  if (!values.is_object()) hf.refuse(name, "is of another kind", "a map");
  HfConfig out(values, std::string(name) + ".");
  for (const auto& [key, value] : values.members())
    if (value.is_object()) out.refuse(key, "all blocks have one rope", "none");
  return out;
}

/// The share of a head's dims that turn; beside the rope it is `key`.
inline double turned_part(const HfConfig& hf,
                          double otherwise,
                          std::string_view key = "partial_rotary_factor") {
  return rope_values(hf).f64("partial_rotary_factor", hf.f64(key, otherwise));
}

inline void add_yarn_from_hf(const HfConfig& in, Json& out) {
  const auto or_default = [&](const char* key, double otherwise) {
    const double given = in.f64(key, otherwise, 0);
    return given == 0 ? otherwise : given;
  };
  out["beta_fast"] = or_default("beta_fast", 32);
  out["beta_slow"] = or_default("beta_slow", 1);
  out["truncate"] = in.flag("truncate", true, false);
  const double mscale = in.f64("mscale", 0, 0);
  const double all_dim = in.f64("mscale_all_dim", 0, 0);
  const double factor = out.at("factor").f64();
  if (in.has("attention_factor"))
    out["attention_factor"] = in.f64("attention_factor");
  else if (mscale != 0 && all_dim != 0)  // one of them alone says nothing
    out["attention_factor"] =
        yarn_magnitude(factor, mscale) / yarn_magnitude(factor, all_dim);
}

/// config.json -> the "rope" section. Knows rope_parameters (transformers 5)
/// and rope_scaling with "rope_type" or "type". `max_position` is the model's;
/// the base is also `theta_key` beside them.
inline Json rope_from_hf(const HfConfig& hf,
                         double default_theta,
                         int64_t max_position,
                         std::string_view theta_key = "rope_theta") {
  const HfConfig in = rope_values(hf);
  const std::string type = in.str("rope_type", in.str("type", "default"));
  Json out = Json::object();
  out["theta"] = in.f64("rope_theta", hf.f64(theta_key, default_theta));
  if (type == "default") return out;
  if (type != "llama3" && type != "linear" && type != "yarn")
    in.refuse(in.has("rope_type") ? "rope_type" : "type",
              "is not known",
              "default, llama3, linear or yarn");
  const int64_t original =
      hf.size("original_max_position_embeddings",
              in.size("original_max_position_embeddings", max_position));
  Json& scaling = out["scaling"];
  scaling["type"] = type == "llama3" ? "llama" : type.c_str();
  scaling["factor"] =
      type == "yarn" && in.is_null("factor")
          ? static_cast<double>(max_position) / static_cast<double>(original)
          : in.f64("factor");
  if (type == "linear") return out;
  scaling["original_max_position"] = original;
  if (type == "yarn") {
    add_yarn_from_hf(in, scaling);
    return out;
  }
  scaling["low_freq_factor"] = in.f64("low_freq_factor");
  scaling["high_freq_factor"] = in.f64("high_freq_factor");
  return out;
}

/// The "rope_parameters" of config.json.
inline Json rope_to_hf(const RopeConfig& c) {
  Json out = Json::object({{"rope_theta", c.theta}});
  out["rope_type"] = c.scaling == "none"    ? "default"
                     : c.scaling == "llama" ? "llama3"
                                            : c.scaling.c_str();
  if (c.scaling == "none") return out;
  out["factor"] = c.factor;
  if (c.scaling == "linear") return out;
  out["original_max_position_embeddings"] = c.original_max_position;
  if (c.scaling == "llama") {
    out["low_freq_factor"] = c.low_freq_factor;
    out["high_freq_factor"] = c.high_freq_factor;
    return out;
  }
  out["beta_fast"] = c.beta_fast;
  out["beta_slow"] = c.beta_slow;
  out["truncate"] = c.truncate;
  out["attention_factor"] = c.attention_factor;
  return out;
}

}  // namespace titan::layers

// SPDX-License-Identifier: BSD-3-Clause
// Rotary position embedding: its config section and the call site. The forms
// that config.json gives it are in rope_hf.hpp.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <titan/sdk.hpp>

#include "plugins/models/layers/options.hpp"

namespace titan::layers {

struct RopeConfig {
  std::string op = "titan.rope_complex/1";  // or titan.rope_cos_sin/1
  double theta = 10000;
  int64_t rotary_dim = 0;        // 0: the whole head
  std::string scaling = "none";  // none | llama | linear | yarn
  double factor = 1;
  double low_freq_factor = 1;   // llama
  double high_freq_factor = 4;  // llama
  double beta_fast = 32;        // yarn
  double beta_slow = 1;         // yarn
  bool truncate = true;         // yarn
  double attention_factor = 1;  // yarn: multiplies q and k; see attention_scale
  double magnitude = 1;         // of the turned dims, where only a part turns
  int64_t original_max_position = 0;
  int64_t max_position = 0;
};

/// YaRN's factor of q and k (arXiv 2309.00071, eq. 22), weighted by `mscale`.
inline double yarn_magnitude(double factor, double mscale = 1) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

inline RopeConfig read_rope(const Config& config) {
  RopeConfig out;
  out.theta = config.f64("rope.theta");
  out.scaling = config.str("rope.scaling.type");
  out.factor = config.f64("rope.scaling.factor");
  out.low_freq_factor = config.f64("rope.scaling.low_freq_factor");
  out.high_freq_factor = config.f64("rope.scaling.high_freq_factor");
  out.beta_fast = config.f64("rope.scaling.beta_fast");
  out.beta_slow = config.f64("rope.scaling.beta_slow");
  out.truncate = config.flag("rope.scaling.truncate");
  out.original_max_position = config.i64("rope.scaling.original_max_position");
  out.max_position = config.i64("max_position");
  if (config.has("rope.scaling.attention_factor"))
    out.attention_factor = config.f64("rope.scaling.attention_factor");
  else if (out.scaling == "yarn")
    out.attention_factor = yarn_magnitude(out.factor);
  return out;
}

/// The parts of rope.scaling, by its type.
inline std::vector<Reader> scaling_readers(const std::string& type) {
  const bool has_yarn = type == "yarn", has_llama = type == "llama";
  constexpr auto kYarn = "without rope.scaling.type yarn";
  constexpr auto kLlama = "without rope.scaling.type llama";
  return {{"rope.scaling.factor", type != "none", "without rope.scaling.type"},
          {"rope.scaling.original_max_position",
           has_yarn || has_llama,
           "without rope.scaling.type llama or yarn"},
          {"rope.scaling.low_freq_factor", has_llama, kLlama},
          {"rope.scaling.high_freq_factor", has_llama, kLlama},
          {"rope.scaling.beta_fast", has_yarn, kYarn},
          {"rope.scaling.beta_slow", has_yarn, kYarn},
          {"rope.scaling.truncate", has_yarn, kYarn},
          {"rope.scaling.attention_factor", has_yarn, kYarn},
          {"rope.scaling.mscale", has_yarn, kYarn},
          {"rope.scaling.mscale_all_dim", has_yarn, kYarn}};
}

/// Refuses parts of rope.scaling that its type does not read. `schema`: the
/// family's.
inline void check_scaling_readers(const Config& config,
                                  std::string_view schema) {
  Json options;
  set_option(options, "rope.scaling", config.json("rope.scaling"));
  check_readers(
      options, schema, scaling_readers(config.str("rope.scaling.type")));
}

inline Op rope_op(const Build& b, const RopeConfig& c) {
  return b.op("rope",
              c.op,
              {{"theta", c.theta},
               {"rotary_dim", c.rotary_dim},
               {"scaling", c.scaling},
               {"factor", c.factor},
               {"low_freq_factor", c.low_freq_factor},
               {"high_freq_factor", c.high_freq_factor},
               {"beta_fast", c.beta_fast},
               {"beta_slow", c.beta_slow},
               {"truncate", c.truncate},
               {"magnitude", c.magnitude},
               {"original_max_position", c.original_max_position},
               {"max_position", c.max_position}});
}

/// The softmax scale: head_dim^-1/2, times the factor YaRN gives to q and to k
/// (the op itself only rotates).
inline double attention_scale(int64_t head_dim, const RopeConfig& rope) {
  return std::pow(static_cast<double>(head_dim), -0.5) * rope.attention_factor *
         rope.attention_factor;
}

}  // namespace titan::layers

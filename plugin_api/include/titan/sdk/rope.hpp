// SPDX-License-Identifier: BSD-3-Clause
// Frequencies of titan.rope_complex/1 and titan.rope_cos_sin/1: one text for
// the reference and for kernels, which make their tables from them. Angles are
// to be made in float64 and rounded once: in float32 the angle of position
// 131072 is off by up to 0.008 rad.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace titan {

/// Attributes of a RoPE call that decide its frequencies.
struct RopeScaling {
  double theta = 10000;
  std::string rule = "none";  // none, linear, llama or yarn
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;  // llama
  int64_t original_max_position = 8192;              // llama, yarn
  double beta_fast = 32, beta_slow = 1;              // yarn
  bool truncate = true;                              // yarn

  bool operator==(const RopeScaling&) const = default;
};

namespace detail {

/// Llama 3.1: long waves are stretched by `factor`, short ones kept, with a
/// linear blend between (wavelengths in tokens).
inline double scale_rope_llama(double frequency, const RopeScaling& scaling) {
  const double factor = scaling.factor;
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  const auto original = static_cast<double>(scaling.original_max_position);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength > original / low) return frequency / factor;
  if (wavelength < original / high) return frequency;
  const double blend = (original / wavelength - low) / (high - low);
  return (1 - blend) * frequency / factor + blend * frequency;
}

/// YaRN (arXiv 2309.00071, section 3.2): a ramp over dims between those that
/// turn beta_fast and beta_slow times within the original length.
inline void scale_rope_yarn(std::vector<double>& frequencies,
                            const RopeScaling& scaling,
                            int64_t rotary_dim) {
  if (scaling.factor <= 1) return;
  const auto dims = static_cast<double>(rotary_dim);
  const auto original = static_cast<double>(scaling.original_max_position);
  const double log_theta = std::log(scaling.theta);
  const auto correction = [&](double turns) {
    return dims * std::log(original / (2 * std::numbers::pi * turns)) /
           (2 * log_theta);
  };
  double low = correction(scaling.beta_fast);
  double high = correction(scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;  // as every published version: no 0/0
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const double ramp =
        std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    frequencies[j] =
        frequencies[j] / scaling.factor * ramp + frequencies[j] * (1 - ramp);
  }
}

}  // namespace detail

/// R/2 frequencies in radians per position, after scaling.
inline std::vector<double> rope_frequencies(const RopeScaling& scaling,
                                            int64_t rotary_dim) {
  std::vector<double> frequencies(static_cast<std::size_t>(rotary_dim / 2));
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const double exponent =
        -2.0 * static_cast<double>(j) / static_cast<double>(rotary_dim);
    frequencies[j] = std::pow(scaling.theta, exponent);
    if (scaling.rule == "linear") frequencies[j] /= scaling.factor;
    if (scaling.rule == "llama")
      frequencies[j] = detail::scale_rope_llama(frequencies[j], scaling);
  }
  if (scaling.rule == "yarn")
    detail::scale_rope_yarn(frequencies, scaling, rotary_dim);
  return frequencies;
}

}  // namespace titan

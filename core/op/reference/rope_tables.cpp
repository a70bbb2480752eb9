// SPDX-License-Identifier: BSD-3-Clause
// Angles are made in float64 and rounded once (titan/sdk/rope.hpp).
#include "core/op/reference/rope_tables.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <mutex>

#include <ATen/ATen.h>

#include <titan/sdk/rope.hpp>

namespace titan::op::reference {
namespace {

RopeTable make_table(const std::vector<double>& frequencies,
                     double magnitude,
                     int64_t num_positions,
                     at::ScalarType dtype,
                     const at::Device& device) {
  const auto half = static_cast<int64_t>(frequencies.size());
  const at::Tensor positions = at::arange(num_positions, at::kDouble);
  const at::Tensor steps = at::from_blob(
      const_cast<double*>(frequencies.data()), {half}, at::kDouble);
  const at::Tensor angles = positions.unsqueeze(1) * steps;
  const auto rounded = [&](const at::Tensor& table) {
    return (table * magnitude).to(dtype).to(device);
  };
  return {rounded(angles.cos()), rounded(angles.sin())};
}

/// Highest position + 1; checks the range. CPU only.
int64_t needed_positions(const at::Tensor& positions, int64_t max_position) {
  if (positions.numel() == 0) return 1;
  const auto [lowest, highest] = at::aminmax(positions);
  const int64_t low = lowest.item<int64_t>();
  const int64_t high = highest.item<int64_t>();
  TITAN_USER_CHECK(low >= 0 && (max_position == 0 || high < max_position),
                   "[rope] position out of range: expected 0 to ",
                   max_position == 0 ? "any" : text(max_position - 1),
                   ", got ",
                   low < 0 ? low : high);
  return high + 1;
}

struct Entry {
  uint64_t hash;
  Attributes attributes;
  int64_t rotary_dim;
  at::ScalarType dtype;
  at::Device device;
  RopeTable table;
};

struct TableCache {
  std::mutex mutex;
  std::deque<Entry> entries;  // a handful: one per rope of the process's models
};

TableCache& table_cache() {
  static auto* cache = new TableCache();
  return *cache;
}

int64_t rows_to_make(const at::Tensor& positions, int64_t max_position) {
  if (positions.device().is_cpu()) {
    constexpr uint64_t kLeast = 1024;
    const int64_t needed = needed_positions(positions, max_position);
    const auto rows = static_cast<int64_t>(
        std::bit_ceil(std::max(kLeast, static_cast<uint64_t>(needed))));
    return max_position == 0 ? rows : std::min(rows, max_position);
  }
  TITAN_USER_CHECK(max_position > 0,
                   "[rope] max_position: expected a positive number on ",
                   positions.device().str(),
                   " (positions are not read back there), got 0");
  return max_position;
}

}  // namespace

std::vector<AttributeSpec> rope_attributes() {
  return {
      {"theta", 10000.0, "base of the frequencies"},
      {"rotary_dim", int64_t{0}, "leading dims that rotate; 0 = all"},
      {"scaling",
       std::string("none"),
       "how frequencies are stretched",
       {"none", "linear", "llama", "yarn"}},
      {"factor", 1.0, "stretch of linear, llama, yarn"},
      {"low_freq_factor",
       1.0,
       "llama: waves longer than original/this stretch"},
      {"high_freq_factor", 4.0, "llama: waves shorter than original/this stay"},
      {"original_max_position", int64_t{8192}, "llama, yarn: length in tokens"},
      {"beta_fast", 32.0, "yarn: turns from which nothing is stretched"},
      {"beta_slow", 1.0, "yarn: turns up to which all is stretched"},
      {"truncate", true, "yarn: round the ramp's ends to whole dims"},
      {"magnitude", 1.0, "factor of the dims that rotate (yarn)"},
      {"max_position", int64_t{0}, "positions must be below; 0 = no limit"}};
}

std::vector<double> rope_frequencies(const Attributes& attributes,
                                     int64_t rotary_dim) {
  RopeScaling scaling;
  scaling.theta = attributes.get_double("theta");
  scaling.rule = attributes.get_string("scaling");
  scaling.factor = attributes.get_double("factor");
  scaling.low_freq_factor = attributes.get_double("low_freq_factor");
  scaling.high_freq_factor = attributes.get_double("high_freq_factor");
  scaling.original_max_position = attributes.get_int("original_max_position");
  scaling.beta_fast = attributes.get_double("beta_fast");
  scaling.beta_slow = attributes.get_double("beta_slow");
  scaling.truncate = attributes.get_bool("truncate");
  return titan::rope_frequencies(scaling, rotary_dim);
}

RopeTable rope_table(const Attributes& attributes,
                     int64_t rotary_dim,
                     const at::Tensor& positions,
                     at::ScalarType dtype) {
  const int64_t max_position = attributes.get_int("max_position");
  const int64_t rows = rows_to_make(positions, max_position);
  const uint64_t hash = attributes.hash();
  const at::Device device = positions.device();
  TableCache& cache = table_cache();
  std::lock_guard lock(cache.mutex);
  Entry* found = nullptr;
  for (Entry& entry : cache.entries) {
    if (entry.hash == hash && entry.rotary_dim == rotary_dim &&
        entry.dtype == dtype && entry.device == device &&
        entry.attributes == attributes)
      found = &entry;
  }
  if (found && found->table.cos_PR2.size(0) >= rows) return found->table;
  RopeTable made = make_table(rope_frequencies(attributes, rotary_dim),
                              attributes.get_double("magnitude"),
                              rows,
                              dtype,
                              device);
  if (found) {
    found->table = made;  // holders of the shorter one keep theirs
  } else {
    cache.entries.push_back(
        {hash, attributes, rotary_dim, dtype, device, made});
  }
  return made;
}

}  // namespace titan::op::reference

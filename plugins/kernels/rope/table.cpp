// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/kernels/rope/table.h"

#include <bit>
#include <cmath>
#include <mutex>

#include <titan/sdk/rope.hpp>
#include <titan/sdk/tensor_shape.hpp>

namespace titan::kernels::rope {
namespace {

/// What a table is made from, besides the number of positions.
struct Recipe {
  RopeScaling scaling;
  int64_t rotary_dim;
  double magnitude;
  bool operator==(const Recipe&) const = default;
};

Recipe recipe_of(const AttributeView& attributes, int64_t rotary_dim) {
  Recipe recipe{{}, rotary_dim, attributes.get("magnitude", 1.0)};
  RopeScaling& scaling = recipe.scaling;
  scaling.theta = attributes.get("theta", scaling.theta);
  scaling.rule = attributes.get("scaling", std::string_view("none"));
  scaling.factor = attributes.get("factor", scaling.factor);
  scaling.low_freq_factor =
      attributes.get("low_freq_factor", scaling.low_freq_factor);
  scaling.high_freq_factor =
      attributes.get("high_freq_factor", scaling.high_freq_factor);
  scaling.original_max_position =
      attributes.get("original_max_position", scaling.original_max_position);
  scaling.beta_fast = attributes.get("beta_fast", scaling.beta_fast);
  scaling.beta_slow = attributes.get("beta_slow", scaling.beta_slow);
  scaling.truncate = attributes.get("truncate", scaling.truncate);
  return recipe;
}

Table make_table(const Recipe& recipe, int64_t num_positions) {
  const auto frequencies = rope_frequencies(recipe.scaling, recipe.rotary_dim);
  const auto half = static_cast<int64_t>(frequencies.size());
  const auto size = static_cast<size_t>(num_positions * half);
  Table table{num_positions, half, Scratch(size), Scratch(size)};
  parallel_for(0, num_positions, 64, [&](int64_t position, int64_t end) {
    for (; position < end; ++position) {
      for (int64_t j = 0; j < half; ++j) {
        const double angle = static_cast<double>(position) * frequencies[j];
        const auto at = static_cast<size_t>(position * half + j);
        table.cos[at] = static_cast<float>(std::cos(angle) * recipe.magnitude);
        table.sin[at] = static_cast<float>(std::sin(angle) * recipe.magnitude);
      }
    }
  });
  return table;
}

int64_t needed_positions(const std::vector<int64_t>& positions,
                         int64_t max_position) {
  int64_t low = 0, high = 0;
  for (const int64_t position : positions) {
    low = std::min(low, position);
    high = std::max(high, position);
  }
  TITAN_USER_CHECK(low >= 0 && (max_position == 0 || high < max_position),
                   "[rope] position out of range: expected 0 to ",
                   max_position == 0 ? "any" : std::to_string(max_position - 1),
                   ", got ",
                   low < 0 ? low : high);
  return high + 1;
}

/// A handful: one table per rope of the process's models.
struct Cache {
  struct Entry {
    Recipe recipe;
    std::shared_ptr<const Table> table;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

Cache& cache() {
  static Cache instance;
  return instance;
}

}  // namespace

std::vector<int64_t> positions_of(TensorView tensor) {
  const Tensor dense = tensor.retain().contiguous();
  const auto copy = [&](const auto* data) {
    return std::vector<int64_t>(data, data + dense.numel());
  };
  return dense.dtype() == Dtype::kI32 ? copy(dense.data<const int32_t>())
                                      : copy(dense.data<const int64_t>());
}

std::shared_ptr<const Table> table_for(const AttributeView& attributes,
                                       int64_t rotary_dim,
                                       const std::vector<int64_t>& positions) {
  constexpr uint64_t kLeast = 1024;
  const int64_t max_position = attributes.get("max_position", int64_t{0});
  const int64_t needed = needed_positions(positions, max_position);
  const auto ample = static_cast<int64_t>(
      std::bit_ceil(std::max(kLeast, static_cast<uint64_t>(needed))));
  const Recipe recipe = recipe_of(attributes, rotary_dim);
  const std::lock_guard lock(cache().mutex);
  Cache::Entry* found = nullptr;
  for (Cache::Entry& entry : cache().entries)
    if (entry.recipe == recipe) found = &entry;
  if (found != nullptr && found->table->num_positions >= needed)
    return found->table;
  auto made = std::make_shared<const Table>(make_table(
      recipe, max_position == 0 ? ample : std::min(ample, max_position)));
  if (found != nullptr) {
    found->table = made;  // holders of the shorter one keep theirs
  } else {
    cache().entries.push_back({recipe, made});
  }
  return made;
}

}  // namespace titan::kernels::rope

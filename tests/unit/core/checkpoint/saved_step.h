// SPDX-License-Identifier: BSD-3-Clause
// A small checkpoint whose content follows from its step, so that whoever
// loads it can tell whether it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <titan/text.h>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/checkpoint_writer.h"

inline std::vector<std::int64_t> step_values(std::int64_t step,
                                             std::size_t count) {
  std::vector<std::int64_t> values(count);
  std::iota(values.begin(), values.end(), step * 1'000'000);
  return values;
}

inline titan::checkpoint::TensorSource tensor_of(
    const std::string& name,
    const std::vector<std::int64_t>& values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {{name, titan::checkpoint::Dtype::kI64, {size}},
          titan::checkpoint::borrow_bytes(std::as_bytes(std::span(values)))};
}

inline void save_step(titan::checkpoint::FileSystem& files,
                      const std::filesystem::path& folder,
                      std::int64_t step,
                      std::size_t count = 100) {
  titan::checkpoint::CheckpointWriter writer(files, {folder, step});
  const auto weight = step_values(step, count);
  const auto moment = step_values(-step, count);
  writer.add_tensor("model", tensor_of("layers.0.weight", weight));
  writer.add_tensor("optimizer/exp_avg", tensor_of("layers.0.weight", moment));
  titan::checkpoint::CheckpointState state;
  state.trainer = titan::text("{\"step\":", step, "}");
  writer.commit(state);
}

/// Whether everything in the checkpoint is what save_step() gave.
inline bool holds_step(const titan::checkpoint::CheckpointReader& reader,
                       std::int64_t step,
                       std::size_t count = 100) {
  const auto holds = [&](const char* role, std::int64_t seed) {
    std::vector<std::int64_t> values(count);
    reader.read(role,
                "layers.0.weight",
                {{0}, {static_cast<std::int64_t>(count)}},
                std::as_writable_bytes(std::span(values)));
    return values == step_values(seed, count);
  };
  return reader.step() == step && holds("model", step) &&
         holds("optimizer/exp_avg", -step) &&
         reader.manifest().state.trainer ==
             titan::text("{\"step\":", step, "}");
}

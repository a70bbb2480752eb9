// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/first_values.h"

#include <titan/error.h>

#include "core/observe/log.h"
#include "core/train/adapter.h"
#include "core/train/weights.h"

namespace titan::train {

std::filesystem::path first_weights(const RunSettings& settings,
                                    const std::filesystem::path& from) {
  if (!from.empty() || !settings.initial_weights) return from;
  return *settings.initial_weights;
}

void set_first_values(Training& training,
                      const RunSettings& settings,
                      const std::filesystem::path& from,
                      const checkpoint::FileSystem& files) {
  module::Model& model = *training.model;
  parallel::ParameterEngine& engine = *training.engine;
  const std::filesystem::path path = first_weights(settings, from);
  const bool is_strict = settings.initial_is_strict;
  TITAN_USER_CHECK(is_strict || !path.empty(),
                   "[checkpoint.strict] false: expected weights to start from "
                   "(checkpoint.initial or --from), got none");
  LoadedWeights loaded;
  if (path.empty() || !is_strict) engine.initialise(settings.seed);
  if (!path.empty()) {
    loaded = load_weights(model, engine, path, files, is_strict);
    log::info(text("weights from ", path.string()));
  }
  if (model.transform() == nullptr) return;
  if (!loaded.has_adapters) initialise_adapters(model, engine, settings.seed);
  if (const auto& adapter = settings.initial_adapter) {
    load_adapter(model, engine, *adapter);
    log::info(text("adapter from ", *adapter));
  }
}

}  // namespace titan::train

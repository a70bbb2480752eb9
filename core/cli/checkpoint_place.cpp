// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/checkpoint_place.h"

#include <titan/error.h>

#include "core/train/run_settings.h"

namespace titan::cli {

CheckpointPlace open_place(const std::string& folder,
                           const std::string& recipe,
                           const train::SessionOptions& options) {
  TITAN_USER_CHECK(!folder.empty() || !recipe.empty(),
                   "[checkpoint] place: expected DIR or --recipe, got "
                   "neither");
  CheckpointPlace place;
  place.folder = folder;
  if (recipe.empty()) return place;
  place.session = std::make_unique<train::Session>(recipe, options);
  const train::RunSettings settings =
      train::read_run_settings(place.session->recipe());
  place.storage = train::open_storage(
      place.session->host(), settings.storage, settings.storage_config);
  if (folder.empty()) place.folder = settings.checkpoint_folder;
  return place;
}

}  // namespace titan::cli

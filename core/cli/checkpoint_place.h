// SPDX-License-Identifier: BSD-3-Clause
// Where a command finds checkpoints: on the file system, or where a recipe's
// runs keep them (checkpoint.storage).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/checkpoint/storage.h"
#include "core/train/session.h"

namespace titan::cli {

struct CheckpointPlace {
  std::unique_ptr<train::Session> session;          // null: no recipe
  std::unique_ptr<checkpoint::FileSystem> storage;  // null: the file system
  std::filesystem::path folder;  // the recipe's, where none was given

  checkpoint::FileSystem& files() const {
    return storage ? *storage : checkpoint::real_file_system();
  }
};

/// Opens the recipe unless `recipe` is empty, and its storage. UserError when
/// there is neither a folder nor a recipe.
CheckpointPlace open_place(const std::string& folder,
                           const std::string& recipe,
                           const train::SessionOptions& options);

}  // namespace titan::cli

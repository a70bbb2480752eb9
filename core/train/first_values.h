// SPDX-License-Identifier: BSD-3-Clause
// What parameters and adapters are before the first step of a run that resumes
// nothing.
#pragma once

#include <filesystem>

#include "core/checkpoint/storage.h"
#include "core/train/run_settings.h"
#include "core/train/training.h"

namespace titan::train {

/// The weights of `from`, of the recipe's `checkpoint.initial` where `from` is
/// empty, or those that the seed gives; then the adapters, where there are any.
/// `files` hold `from`. UserError: weights that do not fit.
void set_first_values(Training& training,
                      const RunSettings& settings,
                      const std::filesystem::path& from,
                      const checkpoint::FileSystem& files);

/// `from`, else the recipe's `checkpoint.initial`, else empty: the seed's.
std::filesystem::path first_weights(const RunSettings& settings,
                                    const std::filesystem::path& from = {});

}  // namespace titan::train

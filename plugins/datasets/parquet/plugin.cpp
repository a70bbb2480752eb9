// SPDX-License-Identifier: BSD-3-Clause
// Registers the dataset titan.parquet.
#include <titan/sdk/plugin.hpp>

#include "plugins/datasets/parquet/dataset.h"

// The soname ends in Arrow's version: CMake hands it over, as the note's
// `needs` must equal what the linker writes.
TITAN_PLUGIN({.name = "titan.parquet",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause",
              .needs = {TITAN_PARQUET_SONAME, TITAN_ARROW_SONAME}},
             titan::dataset<titan::parquet_dataset::ParquetDataset>(
                 "titan.parquet",
                 "Parquet files: texts, conversations or token ids"))

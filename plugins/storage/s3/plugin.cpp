// SPDX-License-Identifier: BSD-3-Clause
// Registers the storage titan.s3.
#include <titan/sdk/plugin.hpp>

#include "plugins/storage/s3/storage.h"

TITAN_PLUGIN({.name = "titan.s3",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause",
              .needs = {"libcurl.so.4", "libcrypto.so.3"}},
             titan::storage<titan::s3::S3Storage>(
                 "titan.s3",
                 "Checkpoints in a bucket of S3 or of what speaks it"))

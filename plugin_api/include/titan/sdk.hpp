// SPDX-License-Identifier: BSD-3-Clause
// The C++20 SDK for plugins, whole: tensors and ops, models, kernels,
// optimizers, planners, storages, datasets, transforms. Header-only, without
// LibTorch; a plugin links no host symbol. Parts can be included alone. Guide:
// docs/plugins.md.
#pragma once

#include <titan/abi.h>
#include <titan/error.h>
#include <titan/json.hpp>
#include <titan/sdk/dataset.hpp>
#include <titan/sdk/functions.hpp>
#include <titan/sdk/kernel.hpp>
#include <titan/sdk/leaf.hpp>
#include <titan/sdk/model.hpp>
#include <titan/sdk/module.hpp>
#include <titan/sdk/optimizer.hpp>
#include <titan/sdk/planner.hpp>
#include <titan/sdk/plugin.hpp>
#include <titan/sdk/storage.hpp>
#include <titan/sdk/transform.hpp>
#include <titan/text.h>

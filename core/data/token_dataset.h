// SPDX-License-Identifier: BSD-3-Clause
// tokens: prepared ids (token_file.h) as a dataset. Where the format tells
// documents apart, each is a record, longer ones than a block in pieces; else
// the file is one document. A piece brings the id behind it, so cuts lose no
// target. The last part of each file, from a document's start, is held out.
#pragma once

#include <memory>

#include "core/data/dataset.h"

namespace titan {

std::unique_ptr<Dataset> open_token_dataset(const DatasetOptions& options);

}  // namespace titan

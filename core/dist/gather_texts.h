// SPDX-License-Identifier: BSD-3-Clause
// Texts of all ranks on every rank: small things that ranks tell one another.
#pragma once

#include <string>
#include <vector>

#include "core/dist/group.h"

namespace titan::dist {

/// In rank order. Collective over `group`.
std::vector<std::string> all_gather_texts(Group& group,
                                          const std::string& mine);

}  // namespace titan::dist

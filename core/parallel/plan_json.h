// SPDX-License-Identifier: BSD-3-Clause
// A plan as text: what planners write, `titan plan` prints, runs are compared
// by. Canonical: keys sorted, no spaces, every key present, so equal plans are
// equal bytes. Grammar: docs/parallelism.md.
#pragma once

#include <string>
#include <string_view>

#include "core/parallel/plan.h"

namespace titan::parallel {

/// "F0", "B3".
std::string action_name(const Action& action);

/// {"pp": 2, ...}: what a plan and what planners are asked say about the mesh.
std::string mesh_to_json(const MeshShape& shape);

/// Canonical text of everything but Plan::json.
std::string plan_to_json(const Plan& plan);

/// Reads and sets Plan::json to the canonical form. Missing keys have their
/// defaults. UserError naming the path for text that is no JSON, a wrong type,
/// an unknown key or word. Says nothing about sense: validate.h does.
Plan plan_from_json(std::string_view text);

}  // namespace titan::parallel

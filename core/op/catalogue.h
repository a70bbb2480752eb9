// SPDX-License-Identifier: BSD-3-Clause
// Every op that Titan knows, by id. First-party ops are in core/op/reference;
// a plugin of kind `op` adds its own before models are built.
#pragma once

#include <string_view>
#include <vector>

#include "core/op/spec.h"

namespace titan::op {

/// The op `id` ("titan.swiglu/1"); lives for ever. UserError naming the nearest
/// id when there is none. [thread: any]
const OpSpec& find_op(std::string_view id);

/// All ops, ordered by id. [thread: any]
std::vector<const OpSpec*> all_ops();

/// Adds an op and registers titan::<name> and titan::<name>_backward with the
/// dispatcher. UserError when the id is taken. [thread: loader]
const OpSpec& add_op(OpSpec spec);

}  // namespace titan::op

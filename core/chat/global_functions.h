// SPDX-License-Identifier: BSD-3-Clause
// What templates may call without being given it: range, dict, joiner, cycler
// of jinja2; raise_exception and strftime_now of transformers. `namespace` is
// the interpreter's, which owns what changes.
#pragma once

#include <ctime>
#include <optional>

#include "core/chat/value.h"

namespace titan::chat {

/// `now` absent: strftime_now is not there, so that a template takes its own
/// fixed date or stops.
Dict make_global_functions(const std::optional<std::tm>& now);

}  // namespace titan::chat

// SPDX-License-Identifier: BSD-3-Clause
// The methods of str that cut a text into pieces.
#pragma once

#include <string_view>
#include <vector>

#include "core/chat/object.h"
#include "core/chat/value.h"

namespace titan::chat {

Value split(const Value& self, const CallArguments& arguments, Budget& budget);
Value rsplit(const Value& self, const CallArguments& arguments, Budget& budget);
Value splitlines(const Value& self,
                 const CallArguments& arguments,
                 Budget& budget);
Value partition(const Value& self,
                const CallArguments& arguments,
                Budget& budget);
Value rpartition(const Value& self,
                 const CallArguments& arguments,
                 Budget& budget);

/// Lines without their ends, as str.splitlines cuts them.
std::vector<std::string_view> split_lines(std::string_view text,
                                          bool keep_ends);

}  // namespace titan::chat

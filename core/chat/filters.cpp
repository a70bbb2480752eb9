// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/filters.h"

#include <algorithm>

namespace titan::chat {

const Filter* find_filter(std::string_view name) {
  for (const std::span<const Filter> filters : {text_filters(),
                                                number_filters(),
                                                sequence_filters(),
                                                order_filters()}) {
    const auto found =
        std::find_if(filters.begin(), filters.end(), [&](const Filter& filter) {
          return filter.name == name;
        });
    if (found != filters.end()) return &*found;
  }
  return nullptr;
}

}  // namespace titan::chat

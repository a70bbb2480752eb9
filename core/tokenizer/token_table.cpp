// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/token_table.h"

#include <titan/error.h>

namespace titan {

bool TokenTable::add(std::string_view token, int32_t id) {
  TITAN_CHECK(id >= 0, "[token table] id: expected 0 or more, got ", id);
  const auto index = static_cast<size_t>(id);
  if (index >= texts_.size()) texts_.resize(index + 1);
  if (texts_[index]) return false;
  const auto [entry, is_new] = ids_.insert_or_assign(std::string(token), id);
  texts_[index] = &entry->first;
  return true;
}

std::optional<int32_t> TokenTable::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* TokenTable::text_of(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= texts_.size()) return nullptr;
  return texts_[static_cast<size_t>(id)];
}

}  // namespace titan

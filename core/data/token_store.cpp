// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/token_store.h"

#include <algorithm>
#include <limits>

#include <titan/error.h>

#include "core/data/hash.h"

namespace titan {

void InMemoryTokenStore::add_document(std::span<const int32_t> ids) {
  TITAN_CHECK(!ids.empty(), "[token store] document without tokens");
  starts_.push_back(num_tokens());
  for (const int32_t id : ids) {
    TITAN_CHECK(id >= 0, "[token store] negative token id: ", id);
    max_token_ = std::max(max_token_, id);
    digest_ = combine_hash(digest_, static_cast<uint64_t>(id));
  }
  digest_ = combine_hash(digest_, ~static_cast<uint64_t>(ids.size()));
  if (max_token_ > std::numeric_limits<uint16_t>::max() && !is_wide_) widen();
  if (is_wide_)
    wide_.insert(wide_.end(), ids.begin(), ids.end());
  else
    narrow_.insert(narrow_.end(), ids.begin(), ids.end());
}

void InMemoryTokenStore::widen() {
  wide_.assign(narrow_.begin(), narrow_.end());
  narrow_ = {};
  is_wide_ = true;
}

int64_t InMemoryTokenStore::num_tokens() const {
  return static_cast<int64_t>(is_wide_ ? wide_.size() : narrow_.size());
}

int64_t InMemoryTokenStore::num_documents() const {
  return static_cast<int64_t>(starts_.size());
}

void InMemoryTokenStore::read(int64_t begin, std::span<int32_t> out) const {
  const auto size = static_cast<int64_t>(out.size());
  TITAN_CHECK(begin >= 0 && begin + size <= num_tokens(),
              "[token store] read outside: begin ",
              begin,
              ", size ",
              size,
              " of ",
              num_tokens());
  if (is_wide_)
    std::copy_n(wide_.begin() + begin, size, out.begin());
  else
    std::copy_n(narrow_.begin() + begin, size, out.begin());
}

void InMemoryTokenStore::append_document_starts(
    int64_t begin,
    int64_t end,
    std::vector<int64_t>& out) const {
  const auto first = std::lower_bound(starts_.begin(), starts_.end(), begin);
  const auto last = std::lower_bound(first, starts_.end(), end);
  out.insert(out.end(), first, last);
}

}  // namespace titan

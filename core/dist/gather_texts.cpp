// SPDX-License-Identifier: BSD-3-Clause
#include "core/dist/gather_texts.h"

#include <cstring>

#include <ATen/ATen.h>

namespace titan::dist {

std::vector<std::string> all_gather_texts(Group& group,
                                          const std::string& mine) {
  if (group.size() == 1) return {mine};
  at::Tensor length = at::tensor({static_cast<int64_t>(mine.size())});
  at::Tensor longest = length.clone();
  group.all_reduce_max(longest);
  const int64_t capacity = longest.item<int64_t>();
  at::Tensor bytes = at::zeros({capacity + 8}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), length.const_data_ptr(), 8);
  std::memcpy(static_cast<char*>(bytes.mutable_data_ptr()) + 8,
              mine.data(),
              mine.size());
  at::Tensor all = at::empty({group.size() * (capacity + 8)}, at::kByte);
  group.all_gather(all, bytes);
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    const char* at_rank =
        static_cast<const char*>(all.const_data_ptr()) + rank * (capacity + 8);
    int64_t size = 0;
    std::memcpy(&size, at_rank, 8);
    texts.emplace_back(at_rank + 8, static_cast<size_t>(size));
  }
  return texts;
}

}  // namespace titan::dist

// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/reference/delta_panels.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace titan::op::reference::delta {

at::Tensor Panel::gather(const at::Tensor& x_TND, at::ScalarType dtype) const {
  const at::Tensor tokens =
      at::zeros({num_chunks * chunk_size, x_TND.size(1), x_TND.size(2)},
                x_TND.options().dtype(dtype));
  for (const Segment& segment : segments)
    tokens.narrow(0, segment.first_chunk * chunk_size, segment.num_tokens)
        .copy_(x_TND.narrow(0, segment.first_token, segment.num_tokens));
  return tokens.unflatten(0, {num_chunks, chunk_size}).transpose(1, 2);
}

void Panel::scatter(const at::Tensor& x_PNCD, const at::Tensor& out_TND) const {
  const at::Tensor tokens = x_PNCD.transpose(1, 2).flatten(0, 1);
  for (const Segment& segment : segments)
    out_TND.narrow(0, segment.first_token, segment.num_tokens)
        .copy_(tokens.narrow(
            0, segment.first_chunk * chunk_size, segment.num_tokens));
}

std::vector<Panel> make_panels(const std::vector<int64_t>& bounds,
                               int64_t chunk_size,
                               int64_t chunks_per_panel) {
  std::vector<Panel> panels;
  for (size_t document = 0; document + 1 < bounds.size(); ++document) {
    const int64_t end = bounds[document + 1];
    int64_t token = bounds[document];
    while (token < end) {
      if (panels.empty() || panels.back().num_chunks == chunks_per_panel)
        panels.push_back({{}, 0, chunk_size});
      Panel& panel = panels.back();
      const int64_t room = (chunks_per_panel - panel.num_chunks) * chunk_size;
      const int64_t count = std::min(room, end - token);
      const int64_t chunks = (count + chunk_size - 1) / chunk_size;
      panel.segments.push_back({static_cast<int64_t>(document),
                                token,
                                count,
                                panel.num_chunks,
                                chunks,
                                token == bounds[document],
                                token + count == end});
      panel.num_chunks += chunks;
      token += count;
    }
  }
  return panels;
}

}  // namespace titan::op::reference::delta

// SPDX-License-Identifier: BSD-3-Clause
// Packed documents cut into chunks, and chunks gathered into panels: what the
// delta rule computes with at a time. A document starts a chunk; its last chunk
// may be partly empty. Legend: T tokens, P chunks of a panel, C tokens of a
// chunk, N heads, D features.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::op::reference::delta {

/// The part of one document that is in a panel.
struct Segment {
  int64_t document;
  int64_t first_token, num_tokens;  // in the call
  int64_t first_chunk, num_chunks;  // in the panel
  bool is_start;                    // holds the document's first token
  bool is_end;
};

struct Panel {
  std::vector<Segment> segments;
  int64_t num_chunks = 0;  // P
  int64_t chunk_size = 0;  // C

  /// Tokens as [P, N, C, D] in `dtype`; zero where a chunk is empty.
  at::Tensor gather(const at::Tensor& x_TND, at::ScalarType dtype) const;
  /// Writes the tokens of [P, N, C, D] to their places in `out_TND`.
  void scatter(const at::Tensor& x_PNCD, const at::Tensor& out_TND) const;
};

/// Panels of up to `chunks_per_panel` chunks over all documents, in order;
/// empty documents are in none. `bounds`: see document_bounds.
std::vector<Panel> make_panels(const std::vector<int64_t>& bounds,
                               int64_t chunk_size,
                               int64_t chunks_per_panel);

}  // namespace titan::op::reference::delta

// SPDX-License-Identifier: BSD-3-Clause
// The gated delta rule over one panel of chunks (delta_panels.h): what does not
// depend on the state, the way of the state from chunk to chunk, and both ways
// back. All in acc(dtype). gated_delta_rule.cpp drives it over documents.
// Legend: T tokens, S documents, M key heads, N value heads (head n reads key
// head n / (N / M)), K key dim, V value dim, P chunks of a panel, C tokens of a
// chunk.
#pragma once

#include "core/op/reference/delta_panels.h"

namespace titan::op::reference::delta {

struct Options {
  double scale;        // of q
  double qk_norm_eps;  // 0: q and k as given
};

/// The op's floating inputs.
struct Inputs {
  at::Tensor query_TMK, key_TMK, value_TNV;
  at::Tensor gate_TN, beta_TN;
  at::Tensor initial_SNKV;  // undefined: zeros
};

/// q or k: as given, and as the rule uses it.
struct Unit {
  at::Tensor given_PMCK;
  at::Tensor rnorm_PMC1;  // undefined: used as given
  at::Tensor used_PMCK;
};

/// All that does not depend on the state. With b the sum of g since the chunk's
/// start, a chunk maps its first state S to
///   values = u - w S,   out = (q e^b) S + scores values,
///   next S = e^b_C S + (k e^(b_C - b))^T values.
struct Chunks {
  Unit query, key;
  at::Tensor query_PNCK, key_PNCK;  // repeated for the value heads; q scaled
  at::Tensor value_PNCV, beta_PNC1;
  at::Tensor decay_PNC1;    // e^b
  at::Tensor rest_PNC1;     // e^(b_C - b)
  at::Tensor total_PN11;    // e^b_C
  at::Tensor pair_PNCC;     // e^(b_i - b_j), 0 for i < j
  at::Tensor gram_PNCC;     // k_i . k_j pair_ij for i > j, else 0
  at::Tensor inverse_PNCC;  // (1 + beta gram)^-1
  at::Tensor u_PNCV, w_PNCK;
};

Chunks make_chunks(const Panel& panel,
                   const Inputs& inputs,
                   const Options& options);

/// [P, N, C, C]: q_i . k_j pair_ij.
at::Tensor make_scores(const Chunks& chunks);

/// What a panel's chunks start from and add.
struct Flow {
  at::Tensor state_PNKV;   // before each chunk
  at::Tensor values_PNCV;  // u - w S
};

/// Carries `state_NKV` through the panel. `final_SNKV`, where defined, gets the
/// states after documents that end here.
Flow advance(const Panel& panel,
             const Chunks& chunks,
             const Inputs& inputs,
             at::Tensor& state_NKV,
             const at::Tensor& final_SNKV);

/// [P, N, C, V]
at::Tensor make_out(const Chunks& chunks, const Flow& flow);

/// Gradients of a panel's `values` and of the state after each chunk.
struct FlowGrads {
  at::Tensor values_PNCV;
  at::Tensor next_PNKV;
};

/// Carries the gradient of the state back through the panel. `grad_first_SNKV`,
/// where defined, gets that of documents that start here; `grad_final_SNKV`,
/// where undefined, is zero.
FlowGrads retreat(const Panel& panel,
                  const Chunks& chunks,
                  const at::Tensor& grad_out_PNCV,
                  const at::Tensor& grad_final_SNKV,
                  at::Tensor& grad_state_NKV,
                  const at::Tensor& grad_first_SNKV);

/// Gradients of what a panel was gathered from.
struct PanelGrads {
  at::Tensor query_PMCK, key_PMCK, value_PNCV, gate_PNC1, beta_PNC1;
};

PanelGrads panel_grads(const Chunks& chunks,
                       const Flow& flow,
                       const at::Tensor& grad_out_PNCV,
                       const FlowGrads& grads,
                       const Options& options);

}  // namespace titan::op::reference::delta

// SPDX-License-Identifier: BSD-3-Clause
// The chunked (WY) form and its derivative: within a chunk dense products and
// one triangular system, from chunk to chunk the state.
#include "core/op/reference/delta_chunks.h"

#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference::delta {
namespace {

Unit make_unit(const at::Tensor& x_PMCK, double eps) {
  if (eps == 0) return {x_PMCK, {}, x_PMCK};
  const at::Tensor rnorm_PMC1 =
      (x_PMCK * x_PMCK).sum(-1, true).add_(eps).rsqrt_();
  return {x_PMCK, rnorm_PMC1, x_PMCK * rnorm_PMC1};
}

/// Gradient of `given` from that of `used`.
at::Tensor grad_of_given(const Unit& unit, const at::Tensor& grad_PMCK) {
  if (!unit.rnorm_PMC1.defined()) return grad_PMCK;
  const at::Tensor along = (unit.used_PMCK * grad_PMCK).sum(-1, true);
  return (grad_PMCK - unit.used_PMCK * along).mul_(unit.rnorm_PMC1);
}

at::Tensor transposed(const at::Tensor& x) {
  return x.transpose(-1, -2);
}

void add_decays(Chunks& c, const at::Tensor& gate_PNC1) {
  const at::Tensor sum_PNC1 = gate_PNC1.cumsum(2);
  const at::Tensor last_PN11 = sum_PNC1.narrow(2, sum_PNC1.size(2) - 1, 1);
  c.decay_PNC1 = sum_PNC1.exp();
  c.rest_PNC1 = (last_PN11 - sum_PNC1).exp_();
  c.total_PN11 = last_PN11.exp();
  // Never e^(b_i - b_j) for i < j: it overflows.
  c.pair_PNCC = (sum_PNC1 - transposed(sum_PNC1)).tril_().exp_().tril_();
}

at::Tensor first_state(const Inputs& inputs, int64_t document) {
  const at::Tensor& value_TNV = inputs.value_TNV;
  const auto acc = acc_type(value_TNV.scalar_type());
  if (inputs.initial_SNKV.defined())
    return inputs.initial_SNKV.select(0, document).to(acc);
  return at::zeros(
      {value_TNV.size(1), inputs.query_TMK.size(2), value_TNV.size(2)},
      value_TNV.options().dtype(acc));
}

at::Tensor row_sums(const at::Tensor& x) {
  return x.sum(-1, true);
}

}  // namespace

Chunks make_chunks(const Panel& panel,
                   const Inputs& inputs,
                   const Options& options) {
  const auto acc = acc_type(inputs.value_TNV.scalar_type());
  const int64_t num_heads = inputs.value_TNV.size(1);
  const auto unit = [&](const at::Tensor& x_TMK) {
    return make_unit(panel.gather(x_TMK, acc), options.qk_norm_eps);
  };
  Chunks c;
  c.query = unit(inputs.query_TMK);
  c.key = unit(inputs.key_TMK);
  c.query_PNCK = repeat_heads(c.query.used_PMCK, num_heads).mul(options.scale);
  c.key_PNCK = repeat_heads(c.key.used_PMCK, num_heads).contiguous();
  c.value_PNCV = panel.gather(inputs.value_TNV, acc);
  c.beta_PNC1 = panel.gather(inputs.beta_TN.unsqueeze(2), acc);
  add_decays(c, panel.gather(inputs.gate_TN.unsqueeze(2), acc));
  c.gram_PNCC = at::matmul(c.key_PNCK, transposed(c.key_PNCK))
                    .mul_(c.pair_PNCC)
                    .tril_(-1);
  const int64_t size = panel.chunk_size;
  c.inverse_PNCC = at::linalg_solve_triangular(
      c.beta_PNC1 * c.gram_PNCC,
      at::eye(size, c.gram_PNCC.options()).expand(c.gram_PNCC.sizes()),
      /*upper=*/false,
      /*left=*/true,
      /*unitriangular=*/true);
  c.u_PNCV = at::matmul(c.inverse_PNCC, c.beta_PNC1 * c.value_PNCV);
  c.w_PNCK =
      at::matmul(c.inverse_PNCC, c.beta_PNC1 * c.decay_PNC1 * c.key_PNCK);
  return c;
}

at::Tensor make_scores(const Chunks& c) {
  return at::matmul(c.query_PNCK, transposed(c.key_PNCK)).mul_(c.pair_PNCC);
}

at::Tensor make_out(const Chunks& c, const Flow& flow) {
  return at::matmul(c.query_PNCK * c.decay_PNC1, flow.state_PNKV)
      .add_(at::matmul(make_scores(c), flow.values_PNCV));
}

Flow advance(const Panel& panel,
             const Chunks& c,
             const Inputs& inputs,
             at::Tensor& state_NKV,
             const at::Tensor& final_SNKV) {
  const at::Tensor weighted_PNCK = c.key_PNCK * c.rest_PNC1;
  Flow flow{at::empty({panel.num_chunks,
                       c.value_PNCV.size(1),
                       c.key_PNCK.size(3),
                       c.value_PNCV.size(3)},
                      c.value_PNCV.options()),
            at::empty_like(c.u_PNCV)};
  for (const Segment& segment : panel.segments) {
    if (segment.is_start) state_NKV = first_state(inputs, segment.document);
    for (int64_t i = segment.first_chunk;
         i < segment.first_chunk + segment.num_chunks;
         ++i) {
      flow.state_PNKV.select(0, i).copy_(state_NKV);
      const at::Tensor values_NCV = at::baddbmm(
          c.u_PNCV.select(0, i), c.w_PNCK.select(0, i), state_NKV, 1, -1);
      flow.values_PNCV.select(0, i).copy_(values_NCV);
      state_NKV = at::baddbmm(c.total_PN11.select(0, i) * state_NKV,
                              transposed(weighted_PNCK.select(0, i)),
                              values_NCV);
    }
    if (segment.is_end && final_SNKV.defined())
      final_SNKV.select(0, segment.document).copy_(state_NKV);
  }
  return flow;
}

FlowGrads retreat(const Panel& panel,
                  const Chunks& c,
                  const at::Tensor& grad_out_PNCV,
                  const at::Tensor& grad_final_SNKV,
                  at::Tensor& grad_state_NKV,
                  const at::Tensor& grad_first_SNKV) {
  const at::Tensor weighted_PNCK = c.key_PNCK * c.rest_PNC1;
  const at::Tensor from_out_PNKV =
      at::matmul(transposed(c.query_PNCK * c.decay_PNC1), grad_out_PNCV);
  FlowGrads grads{at::matmul(transposed(make_scores(c)), grad_out_PNCV),
                  at::empty_like(from_out_PNKV)};
  for (auto segment = panel.segments.rbegin(); segment != panel.segments.rend();
       ++segment) {
    if (segment->is_end)
      grad_state_NKV = grad_final_SNKV.defined()
                           ? grad_final_SNKV.select(0, segment->document)
                                 .to(from_out_PNKV.scalar_type())
                           : at::zeros_like(from_out_PNKV.select(0, 0));
    for (int64_t i = segment->first_chunk + segment->num_chunks - 1;
         i >= segment->first_chunk;
         --i) {
      grads.next_PNKV.select(0, i).copy_(grad_state_NKV);
      at::Tensor grad_values_NCV = grads.values_PNCV.select(0, i);
      grad_values_NCV.baddbmm_(weighted_PNCK.select(0, i), grad_state_NKV);
      grad_state_NKV =
          at::addcmul(from_out_PNKV.select(0, i),
                      grad_state_NKV,
                      c.total_PN11.select(0, i))
              .baddbmm_(
                  transposed(c.w_PNCK.select(0, i)), grad_values_NCV, 1, -1);
    }
    if (segment->is_start && grad_first_SNKV.defined())
      grad_first_SNKV.select(0, segment->document).copy_(grad_state_NKV);
  }
  return grads;
}

PanelGrads panel_grads(const Chunks& c,
                       const Flow& flow,
                       const at::Tensor& grad_out_PNCV,
                       const FlowGrads& grads,
                       const Options& options) {
  // Gradients of q e^b, of k e^(b_C - b), of beta v, of beta e^b k, of the
  // scores and of beta gram.
  const at::Tensor state_VK = transposed(flow.state_PNKV);
  const at::Tensor decayed_PNCK = at::matmul(grad_out_PNCV, state_VK);
  const at::Tensor weighted_PNCK =
      at::matmul(flow.values_PNCV, transposed(grads.next_PNKV));
  const at::Tensor inverse_t = transposed(c.inverse_PNCC);
  const at::Tensor beta_value_PNCV = at::matmul(inverse_t, grads.values_PNCV);
  const at::Tensor beta_key_PNCK =
      at::matmul(inverse_t, at::matmul(grads.values_PNCV, state_VK)).neg_();
  const at::Tensor scores_PNCC =
      at::matmul(grad_out_PNCV, transposed(flow.values_PNCV));
  const at::Tensor system_PNCC =
      at::matmul(beta_value_PNCV, transposed(c.u_PNCV))
          .add_(at::matmul(beta_key_PNCK, transposed(c.w_PNCK)))
          .neg_()
          .tril_(-1);

  const at::Tensor scores_pair_PNCC = scores_PNCC * c.pair_PNCC;
  const at::Tensor system_pair_PNCC =
      (system_PNCC * c.pair_PNCC).mul_(c.beta_PNC1);
  const at::Tensor query_PNCK =
      (decayed_PNCK * c.decay_PNC1)
          .add_(at::matmul(scores_pair_PNCC, c.key_PNCK));
  const at::Tensor key_PNCK =
      (beta_key_PNCK * (c.beta_PNC1 * c.decay_PNC1))
          .addcmul_(weighted_PNCK, c.rest_PNC1)
          .add_(at::matmul(transposed(scores_pair_PNCC), c.query_PNCK))
          .add_(at::matmul(system_pair_PNCC, c.key_PNCK))
          .add_(at::matmul(transposed(system_pair_PNCC), c.key_PNCK));

  // Sums over k of products with k e^b and k e^(b_C - b).
  const at::Tensor key_decay_PNC1 =
      row_sums(beta_key_PNCK * c.key_PNCK).mul_(c.decay_PNC1);
  const at::Tensor rest_PNC1 =
      row_sums(weighted_PNCK * c.key_PNCK).mul_(c.rest_PNC1);
  PanelGrads out;
  out.value_PNCV = beta_value_PNCV * c.beta_PNC1;
  out.beta_PNC1 = row_sums(beta_value_PNCV * c.value_PNCV)
                      .add_(key_decay_PNC1)
                      .add_(row_sums(system_PNCC * c.gram_PNCC));
  // pair_ij depends on b_i - b_j.
  const at::Tensor pairs_PNCC =
      (scores_pair_PNCC * at::matmul(c.query_PNCK, transposed(c.key_PNCK)))
          .add_(system_PNCC * c.gram_PNCC * c.beta_PNC1);
  at::Tensor sum_PNC1 = row_sums(decayed_PNCK * c.query_PNCK)
                            .mul_(c.decay_PNC1)
                            .addcmul_(key_decay_PNC1, c.beta_PNC1)
                            .sub_(rest_PNC1)
                            .add_(row_sums(pairs_PNCC))
                            .sub_(transposed(pairs_PNCC.sum(-2, true)));
  const at::Tensor last_PN1 = (flow.state_PNKV * grads.next_PNKV)
                                  .sum(at::IntArrayRef{-1, -2})
                                  .unsqueeze(-1)
                                  .mul_(c.total_PN11.squeeze(-1))
                                  .add_(rest_PNC1.sum(2));
  sum_PNC1.select(2, sum_PNC1.size(2) - 1).add_(last_PN1);
  out.gate_PNC1 = sum_PNC1.flip({2}).cumsum(2).flip({2});

  const auto given = [](const Unit& unit, const at::Tensor& grad_PNCK) {
    return grad_of_given(unit, sum_heads(grad_PNCK, unit.given_PMCK.size(1)));
  };
  out.query_PMCK = given(c.query, query_PNCK * options.scale);
  out.key_PMCK = given(c.key, key_PNCK);
  return out;
}

}  // namespace titan::op::reference::delta

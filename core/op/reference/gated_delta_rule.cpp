// SPDX-License-Identifier: BSD-3-Clause
// titan.gated_delta_rule/1: linear attention whose state forgets and corrects
// itself (Yang et al., "Gated Delta Networks", arXiv 2412.06464), in the
// chunked WY form: within a chunk dense products, from chunk to chunk the
// state. Chunks of one token are the recurrence itself. Nothing is saved:
// backward keeps one state per panel (delta_panels.h) and makes the rest of a
// panel again. All in acc(dtype).
// Legend: as in delta_chunks.h.
#include <cmath>

#include <ATen/ATen.h>

#include "core/op/reference/delta_chunks.h"
#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kQuery, kKey, kValue, kGate, kBeta, kCuSeqlens, kInitial };
enum Output { kOut, kFinal };

constexpr std::string_view kId = "titan.gated_delta_rule/1";
// What is in memory at a time beside inputs and outputs: 16 chunks of 64 tokens
// make products large enough to thread, and are 1/16 of a long row.
constexpr int64_t kChunksPerPanel = 16;

int64_t num_documents(const TensorMeta& cu_seqlens) {
  return cu_seqlens.is_defined ? std::max<int64_t>(0, cu_seqlens.sizes[0] - 1)
                               : 1;
}

void check_heads(const std::vector<TensorMeta>& in) {
  expect_floating(in[kQuery], "q");
  expect_num_dims(in[kQuery], "q", 3);
  expect_dtype(in[kKey], "k", in[kQuery].dtype);
  TITAN_USER_CHECK(in[kKey].sizes == in[kQuery].sizes,
                   "k shape: expected that of q ",
                   in[kQuery].sizes,
                   ", got ",
                   in[kKey].sizes);
  expect_num_dims(in[kValue], "v", 3);
  expect_dtype(in[kValue], "v", in[kQuery].dtype);
  expect_dim(in[kValue], "v", 0, in[kQuery].sizes[0]);
  const int64_t key_heads = in[kQuery].sizes[1];
  TITAN_USER_CHECK(key_heads > 0 && in[kValue].sizes[1] % key_heads == 0,
                   "v heads: expected a multiple of the ",
                   key_heads,
                   " heads of q and k, got ",
                   in[kValue].sizes[1]);
  for (const Input which : {kGate, kBeta}) {
    const char* name = which == kGate ? "g" : "beta";
    expect_floating(in[which], name);
    expect_num_dims(in[which], name, 2);
    expect_dim(in[which], name, 0, in[kValue].sizes[0]);
    expect_dim(in[which], name, 1, in[kValue].sizes[1]);
  }
}

Shapes shape(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  check_heads(in);
  expect_cu_seqlens(in[kCuSeqlens]);
  TITAN_USER_CHECK(attributes.get_int("chunk_size") >= 1,
                   "chunk_size: expected at least 1, got ",
                   attributes.get_int("chunk_size"));
  TITAN_USER_CHECK(attributes.get_double("qk_norm_eps") >= 0,
                   "qk_norm_eps: expected a positive number, or 0 for no norm, "
                   "got ",
                   attributes.get_double("qk_norm_eps"));
  const auto& value = in[kValue].sizes;
  std::vector<int64_t> state = {0, value[1], in[kQuery].sizes[2], value[2]};
  if (in[kInitial].is_defined) {
    state[0] = num_documents(in[kCuSeqlens]);
    expect_floating(in[kInitial], "initial_state");
    TITAN_USER_CHECK(in[kInitial].sizes == state,
                     "initial_state shape: expected ",
                     state,
                     ", got ",
                     in[kInitial].sizes);
  }
  const auto acc = acc_type(in[kQuery].dtype);
  return {{in[kValue], in[kValue].like(acc, std::move(state))}, {}};
}

delta::Inputs inputs_of(c10::ArrayRef<at::Tensor> inputs) {
  return {inputs[kQuery],
          inputs[kKey],
          inputs[kValue],
          inputs[kGate],
          inputs[kBeta],
          inputs[kInitial]};
}

delta::Options options_of(const Attributes& attributes,
                          const delta::Inputs& inputs) {
  const double scale = attributes.get_double("scale");
  const auto key_dim = static_cast<double>(inputs.query_TMK.size(2));
  return {scale != 0 ? scale : 1 / std::sqrt(key_dim),
          attributes.get_double("qk_norm_eps")};
}

std::vector<delta::Panel> panels_of(const Attributes& attributes,
                                    c10::ArrayRef<at::Tensor> inputs) {
  const int64_t num_tokens = inputs[kQuery].size(0);
  return delta::make_panels(
      document_bounds(inputs[kCuSeqlens], num_tokens, kId),
      // A decoded token is one step of the recurrence.
      num_tokens == 1 ? 1 : attributes.get_int("chunk_size"),
      kChunksPerPanel);
}

at::Tensor copy_in(at::ScalarType dtype, const at::Tensor& tensor) {
  return tensor.to(dtype, /*non_blocking=*/false, /*copy=*/true);
}

ForwardResult forward(const ForwardCall& call) {
  const delta::Inputs inputs = inputs_of(call.inputs);
  const delta::Options options = options_of(call.attributes, inputs);
  const at::Tensor& value_TNV = inputs.value_TNV;
  const auto acc = acc_type(value_TNV.scalar_type());
  const at::Tensor out_TNV = at::empty(value_TNV.sizes(), value_TNV.options());
  // Empty documents end as they start.
  at::Tensor final_SNKV;
  if (inputs.initial_SNKV.defined())
    final_SNKV = copy_in(acc, inputs.initial_SNKV);
  at::Tensor state_NKV;
  for (const delta::Panel& panel : panels_of(call.attributes, call.inputs)) {
    const delta::Chunks chunks = delta::make_chunks(panel, inputs, options);
    const delta::Flow flow =
        delta::advance(panel, chunks, inputs, state_NKV, final_SNKV);
    panel.scatter(delta::make_out(chunks, flow), out_TNV);
  }
  if (!final_SNKV.defined())
    final_SNKV = at::empty(
        {0, value_TNV.size(1), inputs.query_TMK.size(2), value_TNV.size(2)},
        value_TNV.options().dtype(acc));
  return {{out_TNV, final_SNKV}, {}};
}

/// The state before each panel, by going forward once more.
std::vector<at::Tensor> panel_states(const std::vector<delta::Panel>& panels,
                                     const delta::Inputs& inputs,
                                     const delta::Options& options) {
  std::vector<at::Tensor> states(panels.size());
  at::Tensor state_NKV;
  for (size_t i = 0; i + 1 < panels.size(); ++i) {
    const delta::Chunks chunks = delta::make_chunks(panels[i], inputs, options);
    delta::advance(panels[i], chunks, inputs, state_NKV, {});
    states[i + 1] = state_NKV;
  }
  return states;
}

/// The op's gradients, to be filled panel by panel.
std::vector<at::Tensor> make_grads(const BackwardCall& call) {
  std::vector<at::Tensor> grads(7);
  for (const Input which : {kQuery, kKey, kValue, kGate, kBeta})
    grads[which] =
        at::empty(call.inputs[which].sizes(), call.inputs[which].options());
  if (!(call.want >> kInitial & 1)) return grads;
  const auto acc = acc_type(call.inputs[kValue].scalar_type());
  const at::Tensor& initial_SNKV = call.inputs[kInitial];
  // Empty documents end as they start.
  grads[kInitial] =
      call.grad_outputs[kFinal].defined()
          ? copy_in(acc, call.grad_outputs[kFinal])
          : at::zeros(initial_SNKV.sizes(), initial_SNKV.options().dtype(acc));
  return grads;
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const delta::Inputs inputs = inputs_of(call.inputs);
  const delta::Options options = options_of(call.attributes, inputs);
  const auto panels = panels_of(call.attributes, call.inputs);
  const auto acc = acc_type(inputs.value_TNV.scalar_type());
  const at::Tensor& given_TNV = call.grad_outputs[kOut];
  const at::Tensor grad_out_TNV =
      given_TNV.defined() ? given_TNV : at::zeros_like(inputs.value_TNV);
  // Without an initial state no final one was returned.
  const at::Tensor grad_final_SNKV =
      inputs.initial_SNKV.defined() ? call.grad_outputs[kFinal] : at::Tensor();
  std::vector<at::Tensor> grads = make_grads(call);
  auto states = panel_states(panels, inputs, options);
  at::Tensor grad_state_NKV;
  for (size_t i = panels.size(); i-- > 0;) {
    const delta::Panel& panel = panels[i];
    const delta::Chunks chunks = delta::make_chunks(panel, inputs, options);
    const delta::Flow flow =
        delta::advance(panel, chunks, inputs, states[i], {});
    const at::Tensor grad_out_PNCV =
        panel.gather(grad_out_TNV, acc).contiguous();
    const delta::FlowGrads flow_grads = delta::retreat(panel,
                                                       chunks,
                                                       grad_out_PNCV,
                                                       grad_final_SNKV,
                                                       grad_state_NKV,
                                                       grads[kInitial]);
    const delta::PanelGrads found =
        delta::panel_grads(chunks, flow, grad_out_PNCV, flow_grads, options);
    panel.scatter(found.query_PMCK, grads[kQuery]);
    panel.scatter(found.key_PMCK, grads[kKey]);
    panel.scatter(found.value_PNCV, grads[kValue]);
    panel.scatter(found.gate_PNC1, grads[kGate].unsqueeze(2));
    panel.scatter(found.beta_PNC1, grads[kBeta].unsqueeze(2));
    states[i].reset();
  }
  if (grads[kInitial].defined())
    grads[kInitial] = grads[kInitial].to(inputs.initial_SNKV.scalar_type());
  for (size_t i = 0; i < grads.size(); ++i)
    if (!(call.want >> i & 1)) grads[i].reset();
  return grads;
}

/// Products of the chunked form; the recurrence has only the last three.
double flops(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  const auto heads =
      static_cast<double>(in[kValue].sizes[0] * in[kValue].sizes[1]);
  const auto key_dim = static_cast<double>(in[kQuery].sizes[2]);
  const auto value_dim = static_cast<double>(in[kValue].sizes[2]);
  const auto chunk = static_cast<double>(attributes.get_int("chunk_size"));
  const double within = chunk == 1 ? 0 : chunk * (3 * key_dim + 2 * value_dim);
  return 2 * heads * (within + 3 * key_dim * value_dim);
}

struct Sizes {
  int64_t num_tokens, key_heads, value_heads, key_dim, value_dim;
  std::vector<int32_t> bounds = {};  // of documents; empty = one, unstated
  bool has_initial = false;
};

std::vector<at::Tensor> draw_inputs(const Sizes& s,
                                    at::ScalarType dtype,
                                    uint64_t seed) {
  const auto normal = [&](at::IntArrayRef sizes, uint64_t which) {
    return random_normal(sizes, at::kDouble, seed + which);
  };
  const std::vector<int64_t> keys = {s.num_tokens, s.key_heads, s.key_dim};
  const std::vector<int64_t> heads = {s.num_tokens, s.value_heads};
  at::Tensor bounds, initial;
  if (!s.bounds.empty()) bounds = at::tensor(s.bounds, at::kInt);
  const int64_t documents =
      s.bounds.empty() ? 1 : static_cast<int64_t>(s.bounds.size()) - 1;
  if (s.has_initial)
    initial = normal({documents, s.value_heads, s.key_dim, s.value_dim}, 5)
                  .to(acc_type(dtype));
  // Keys no longer than 1 or so: beyond sqrt(2 / beta) the state grows.
  const double length = 1 / std::sqrt(static_cast<double>(s.key_dim));
  return {normal(keys, 0).to(dtype),
          normal(keys, 1).mul_(length).to(dtype),
          normal({s.num_tokens, s.value_heads, s.value_dim}, 2).to(dtype),
          normal(heads, 3).abs_().mul_(-0.5).to(acc_type(dtype)),
          normal(heads, 4).sigmoid_().to(dtype),
          bounds,
          initial};
}

ConformanceCase make_case(std::string name,
                          Sizes sizes,
                          Attributes attributes) {
  return {std::move(name),
          std::move(attributes),
          [=](at::ScalarType dtype, uint64_t seed) {
            return draw_inputs(sizes, dtype, seed);
          }};
}

std::vector<ConformanceCase> make_cases() {
  const Attributes small = {{"chunk_size", int64_t{4}}};
  const Attributes recurrent = {{"chunk_size", int64_t{1}}};
  const Attributes plain = {
      {"chunk_size", int64_t{8}}, {"qk_norm_eps", 0.0}, {"scale", 0.7}};
  const std::vector<int32_t> documents = {0, 1, 8, 8, 12, 23};
  return {
      make_case("prime length in small chunks", {13, 2, 4, 5, 3}, small),
      make_case("token by token", {11, 1, 2, 4, 6}, recurrent),
      make_case("one chunk, partly full", {13, 2, 2, 8, 8}, {}),
      make_case("more than a panel", {71, 1, 2, 4, 4}, small),
      make_case("no norm, own scale", {19, 2, 2, 4, 8}, plain),
      make_case("unequal documents", {23, 1, 3, 5, 4, documents}, small),
      make_case(
          "documents with states", {23, 2, 2, 4, 5, documents, true}, small),
      make_case("one token", {1, 2, 4, 8, 8}, {}),
      make_case("one token after a state", {1, 2, 4, 8, 4, {0, 1}, true}, {}),
      make_case("no tokens", {0, 2, 2, 4, 4, {0}}, {})};
}

}  // namespace

OpSpec gated_delta_rule_spec() {
  OpSpec spec;
  spec.id = std::string(kId);
  spec.formula =
      "D = e^g[t] S; S = D + k[t] (beta[t] (v[t] - D^T k[t]))^T; out[t] = S^T "
      "q[t]; q, k over their 2-norms, q scaled; S is K x V, per value head, "
      "from initial_state or 0 at each document's start";
  spec.inputs = {{"q"},
                 {"k"},
                 {"v"},
                 {"g"},
                 {"beta"},
                 {"cu_seqlens", true, false, true},
                 {"initial_state", true}};
  spec.outputs = {{"out"}, {"final_state"}};
  spec.attributes = {
      {"scale", 0.0, "factor of q; 0 = 1 / sqrt(key dim)"},
      {"qk_norm_eps",
       1e-6,
       "added to the sums of squares that q and k are normed by; 0 = no norm"},
      {"chunk_size",
       int64_t{64},
       "tokens computed at a time; 1 = the recurrence, token by token"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.backward_flops_ratio = 4.0;  // forward twice more, and its gradient
  spec.tolerances = rounding_tolerances(
      64, "a triangular system and sums over a document in acc(dtype)");
  spec.cases = make_cases;
  spec.is_stateful = true;
  spec.cache_spec = "recurrent_state";
  return spec;
}

}  // namespace titan::op::reference

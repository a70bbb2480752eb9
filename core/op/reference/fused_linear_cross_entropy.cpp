// SPDX-License-Identifier: BSD-3-Clause
// titan.fused_linear_cross_entropy/1: output head and loss without the [T, V]
// logits. Tokens go through in chunks; each chunk's logits become its gradient
// in place, and the gradients of hidden, weight and bias are made during
// forward, so that backward only scales them by the incoming scalar. Legend: T
// tokens, D features, V vocabulary, C tokens of a chunk.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kHidden, kWeight, kBias, kLabels, kLossWeight };
enum Saved { kGradHidden, kGradWeight, kGradBias };

// Logits of one chunk in acc(dtype): small enough for the caches. Chunks of 256
// to 1024 tokens took the same time at V = 2048, D = 256, one chunk of 2048
// took 5% more (bench/op_overhead.cpp, fp32, one thread).
constexpr int64_t kChunkBytes = 8 << 20;
// Fewer tokens make the sum into the weight's gradient dear, bf16's above all.
constexpr int64_t kLeastChunk = 256;

int64_t chunk_tokens(const Attributes& attributes,
                     int64_t vocabulary,
                     at::ScalarType acc) {
  const int64_t given = attributes.get_int("chunk_tokens");
  if (given > 0) return given;
  const int64_t row_bytes = std::max<int64_t>(
      1, vocabulary * static_cast<int64_t>(c10::elementSize(acc)));
  return std::max(kLeastChunk, kChunkBytes / row_bytes);
}

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kHidden], "hidden");
  expect_num_dims(in[kHidden], "hidden", 2);
  expect_num_dims(in[kWeight], "weight", 2);
  expect_dtype(in[kWeight], "weight", in[kHidden].dtype);
  expect_dim(in[kHidden], "hidden", 1, in[kWeight].sizes[1]);
  const auto acc = acc_type(in[kHidden].dtype);
  TensorMeta grad_bias;
  if (in[kBias].is_defined) {
    expect_num_dims(in[kBias], "bias", 1);
    expect_dim(in[kBias], "bias", 0, in[kWeight].sizes[0]);
    grad_bias = in[kBias].like(acc, in[kBias].sizes);
  }
  expect_integer(in[kLabels], "labels");
  expect_num_dims(in[kLabels], "labels", 1);
  expect_dim(in[kLabels], "labels", 0, in[kHidden].sizes[0]);
  if (in[kLossWeight].is_defined) {
    expect_num_dims(in[kLossWeight], "loss_weight", 1);
    expect_dim(in[kLossWeight], "loss_weight", 0, in[kHidden].sizes[0]);
  }
  return {{in[kHidden].like(acc, {})},
          {in[kHidden], in[kWeight].like(acc, in[kWeight].sizes), grad_bias}};
}

/// Everything that the chunks of one call share.
struct Pass {
  const ForwardCall& call;
  at::ScalarType acc;
  double scale;
  double cap;
  at::Tensor labels_T;  // i64, ignored ones as 0
  at::Tensor weight_T;  // acc, 0 where ignored
  at::Tensor loss;      // scalar, acc
  at::Tensor grad_hidden_TD, grad_weight_VD, grad_bias_V;  // where wanted

  bool wants(Input input) const { return (call.want >> input & 1) != 0; }
};

Pass start(const ForwardCall& call) {
  const at::Tensor& hidden_TD = call.inputs[kHidden];
  const at::Tensor& weight_VD = call.inputs[kWeight];
  const at::Tensor& labels_T = call.inputs[kLabels];
  const auto acc = acc_type(hidden_TD.scalar_type());
  check_labels(labels_T, weight_VD.size(0));
  Pass pass{call,
            acc,
            call.attributes.get_double("logit_scale"),
            call.attributes.get_double("logit_cap"),
            labels_T.to(at::kLong).clamp_min(0),
            {},
            {},
            {},
            {},
            {}};
  const at::Tensor is_ignored = labels_T.eq(kIgnoredLabel);
  const at::Tensor& given = call.inputs[kLossWeight];
  pass.weight_T = given.defined() ? given.to(acc).masked_fill(is_ignored, 0)
                                  : is_ignored.logical_not().to(acc);
  const auto options = hidden_TD.options();
  pass.loss = at::zeros({}, options.dtype(acc));
  if (pass.wants(kHidden))
    pass.grad_hidden_TD = at::empty(hidden_TD.sizes(), options);
  if (pass.wants(kWeight) && hidden_TD.size(0) == 0)
    pass.grad_weight_VD = at::zeros(weight_VD.sizes(), options.dtype(acc));
  if (pass.wants(kBias))
    pass.grad_bias_V = at::zeros({weight_VD.size(0)}, options.dtype(acc));
  return pass;
}

/// Logits of a chunk after scale and cap, in acc(dtype).
at::Tensor chunk_logits(const Pass& pass, const at::Tensor& hidden_CD) {
  const at::Tensor& bias_V = pass.call.inputs[kBias];
  const at::Tensor weight_DV = pass.call.inputs[kWeight].t();
  at::Tensor logits_CV =
      (bias_V.defined() ? at::addmm(bias_V, hidden_CD, weight_DV)
                        : at::mm(hidden_CD, weight_DV))
          .to(pass.acc);
  if (pass.scale != 1) logits_CV.mul_(pass.scale);
  if (pass.cap != 0) logits_CV.div_(pass.cap).tanh_().mul_(pass.cap);
  return logits_CV;
}

/// Adds a chunk's gradient of the logits to all that is wanted.
void spread_gradient(Pass& pass,
                     const at::Tensor& grad_CV,
                     const at::Tensor& hidden_CD,
                     int64_t begin) {
  const at::Tensor rounded_CV = grad_CV.to(hidden_CD.scalar_type());
  if (pass.wants(kHidden)) {
    at::Tensor rows = pass.grad_hidden_TD.narrow(0, begin, grad_CV.size(0));
    at::mm_out(rows, rounded_CV, pass.call.inputs[kWeight]);
  }
  if (pass.wants(kWeight)) {
    if (!pass.grad_weight_VD.defined()) {
      pass.grad_weight_VD = at::mm(rounded_CV.t(), hidden_CD).to(pass.acc);
    } else if (pass.acc == hidden_CD.scalar_type()) {
      pass.grad_weight_VD.addmm_(rounded_CV.t(), hidden_CD);
    } else {
      pass.grad_weight_VD.add_(at::mm(rounded_CV.t(), hidden_CD));
    }
  }
  if (pass.wants(kBias)) pass.grad_bias_V.add_(grad_CV.sum(0));
}

void run_chunk(Pass& pass, int64_t begin, int64_t size) {
  const at::Tensor hidden_CD = pass.call.inputs[kHidden].narrow(0, begin, size);
  const at::Tensor weight_C = pass.weight_T.narrow(0, begin, size);
  const at::Tensor labels_C1 =
      pass.labels_T.narrow(0, begin, size).unsqueeze(1);
  at::Tensor logits_CV = chunk_logits(pass, hidden_CD);
  at::Tensor slope_CV;  // d capped / d scaled logits
  if (pass.cap != 0 && pass.call.want != 0) {
    slope_CV = logits_CV / pass.cap;
    slope_CV = slope_CV.mul_(slope_CV).neg_().add_(1);
  }
  // LibTorch's log_softmax is one fused pass, its logsumexp is four.
  logits_CV = at::log_softmax(logits_CV, 1);
  const at::Tensor loss_C = logits_CV.gather(1, labels_C1).squeeze(1).neg();
  pass.loss.add_((loss_C * weight_C).masked_fill_(weight_C.eq(0), 0).sum());
  if (pass.call.want == 0) return;
  const at::Tensor weight_C1 = weight_C.unsqueeze(1);
  at::Tensor grad_CV = logits_CV.exp_();
  grad_CV.mul_(weight_C1);
  grad_CV.scatter_add_(1, labels_C1, weight_C1.neg());
  if (pass.cap != 0) grad_CV.mul_(slope_CV);
  if (pass.scale != 1) grad_CV.mul_(pass.scale);
  spread_gradient(pass, grad_CV, hidden_CD, begin);
}

ForwardResult forward(const ForwardCall& call) {
  Pass pass = start(call);
  const int64_t num_tokens = call.inputs[kHidden].size(0);
  const int64_t chunk =
      chunk_tokens(call.attributes, call.inputs[kWeight].size(0), pass.acc);
  for (int64_t begin = 0; begin < num_tokens; begin += chunk)
    run_chunk(pass, begin, std::min(chunk, num_tokens - begin));
  return {{pass.loss},
          {pass.grad_hidden_TD, pass.grad_weight_VD, pass.grad_bias_V}};
}

/// Gradients were made by forward for a loss of weight 1.
std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& scale = call.grad_outputs[0];
  std::vector<at::Tensor> grads(5);
  const auto give = [&](Input input, Saved saved, at::ScalarType dtype) {
    if (!(call.want >> input & 1)) return;
    const at::Tensor& made = call.saved[saved];
    grads[input] = made.mul(scale.to(made.scalar_type())).to(dtype);
  };
  const auto dtype = call.inputs[kHidden].scalar_type();
  give(kHidden, kGradHidden, dtype);
  give(kWeight, kGradWeight, dtype);
  give(kBias, kGradBias, dtype);
  return grads;
}

double flops(const Attributes&, const std::vector<TensorMeta>& in) {
  return 2.0 * static_cast<double>(in[kHidden].num_elements()) *
         static_cast<double>(in[kWeight].sizes[0]);
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,  // T, D, V
                          bool has_bias,
                          int64_t num_ignored,
                          Attributes attributes) {
  return {std::move(name),
          std::move(attributes),
          [=](at::ScalarType dtype, uint64_t seed) {
            at::Tensor labels = random_ids({sizes[0]}, sizes[2], seed + 3);
            labels.narrow(0, 0, num_ignored).fill_(kIgnoredLabel);
            at::Tensor bias;
            if (has_bias) bias = random_normal({sizes[2]}, dtype, seed + 2);
            return std::vector<at::Tensor>{
                random_normal({sizes[0], sizes[1]}, dtype, seed),
                random_normal({sizes[2], sizes[1]}, dtype, seed + 1),
                bias,
                labels,
                random_normal({sizes[0]}, at::kFloat, seed + 4).square_()};
          }};
}

std::vector<ConformanceCase> make_cases() {
  const Attributes chunks = {{"chunk_tokens", int64_t{4}}};
  const Attributes soft = {
      {"chunk_tokens", int64_t{5}}, {"logit_scale", 0.25}, {"logit_cap", 3.0}};
  return {make_case("one chunk", {13, 8, 31}, false, 2, {}),
          make_case("chunks that do not divide", {13, 8, 31}, true, 0, chunks),
          make_case("an ignored chunk", {13, 8, 31}, false, 5, chunks),
          make_case("scale and cap", {13, 8, 31}, true, 1, soft),
          make_case("all ignored", {3, 8, 7}, true, 3, {}),
          make_case("no tokens", {0, 8, 7}, true, 0, {})};
}

}  // namespace

OpSpec fused_linear_cross_entropy_spec() {
  OpSpec spec;
  spec.id = "titan.fused_linear_cross_entropy/1";
  spec.formula =
      "logits = cap(logit_scale * (hidden weight^T + bias)), cap(z) = c tanh(z "
      "/ "
      "c); loss_sum = sum_t loss_weight[t] * (logsumexp(logits[t]) - logits[t, "
      "labels[t]]), label -100 ignored";
  spec.inputs = {{"hidden"},
                 {"weight"},
                 {"bias", true},
                 {"labels", false, false, false},
                 {"loss_weight", true, false, false}};
  spec.outputs = {{"loss_sum"}};
  spec.saved = {"grad_hidden", "grad_weight", "grad_bias"};
  spec.attributes = {{"chunk_tokens",
                      int64_t{0},
                      "tokens per chunk; 0 = 8 MiB of logits, at least 256"},
                     {"logit_scale", 1.0, "factor of the logits; 1 = none"},
                     {"logit_cap", 0.0, "cap * tanh(logits / cap); 0 = none"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.tolerances = rounding_tolerances(
      32, "logits and their gradient round to the dtype; sums of 31 and 13");
  spec.cases = make_cases;
  return spec;
}

}  // namespace titan::op::reference

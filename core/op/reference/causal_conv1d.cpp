// SPDX-License-Identifier: BSD-3-Clause
// titan.causal_conv1d/1: depthwise convolution over the tokens before, within
// packed documents: a tap before a document's first token is zero. One pass
// over the tokens per tap, sums in acc(dtype), rounded once after the
// activation. Nothing is saved: backward makes the sums again. Legend: T
// tokens, C channels, W taps (the last is the token itself), P tokens of the
// past, L tokens of a document.
#include <algorithm>

#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kX, kCuSeqlens, kPast, kWeight, kBias };

constexpr std::string_view kId = "titan.causal_conv1d/1";

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kX], "x");
  expect_num_dims(in[kX], "x", 2);
  const int64_t channels = in[kX].sizes[1];
  expect_cu_seqlens(in[kCuSeqlens]);
  if (in[kPast].is_defined) {
    expect_dtype(in[kPast], "past", in[kX].dtype);
    expect_num_dims(in[kPast], "past", 2);
    expect_dim(in[kPast], "past", 1, channels);
    TITAN_USER_CHECK(
        !in[kCuSeqlens].is_defined || in[kCuSeqlens].num_elements() <= 2,
        "past: expected one document when it is given, got ",
        in[kCuSeqlens].num_elements() - 1);
  }
  expect_floating(in[kWeight], "weight");
  expect_num_dims(in[kWeight], "weight", 3);
  expect_dim(in[kWeight], "weight", 0, channels);
  expect_dim(in[kWeight], "weight", 1, 1);
  TITAN_USER_CHECK(in[kWeight].sizes[2] >= 1,
                   "weight taps: expected at least 1, got ",
                   in[kWeight].sizes[2]);
  if (in[kBias].is_defined) {
    expect_floating(in[kBias], "bias");
    expect_num_dims(in[kBias], "bias", 1);
    expect_dim(in[kBias], "bias", 0, channels);
  }
  return {{in[kX]}, {}};
}

/// What both directions compute with, in acc(dtype).
struct Convolution {
  at::Tensor x_TC;  // the past first
  at::Tensor weight_WC;
  at::Tensor bias_C;  // undefined: none
  int64_t num_past = 0;
  std::vector<int64_t> bounds;  // of the documents in x_TC

  int64_t num_taps() const { return weight_WC.size(0); }
  /// The factor of the token `back` places before.
  at::Tensor tap(int64_t back) const {
    return weight_WC.select(0, num_taps() - 1 - back);
  }
  /// Calls f(back, first token that has one `back` places before, how many).
  template <typename Function>
  void each_tap(Function f) const {
    for (size_t i = 1; i < bounds.size(); ++i) {
      const int64_t length_L = bounds[i] - bounds[i - 1];
      for (int64_t back = 1; back < std::min(num_taps(), length_L); ++back)
        f(back, bounds[i - 1] + back, length_L - back);
    }
  }
};

Convolution make_convolution(c10::ArrayRef<at::Tensor> inputs) {
  const at::Tensor& x = inputs[kX];
  const auto acc = acc_type(x.scalar_type());
  Convolution out;
  out.weight_WC = inputs[kWeight].squeeze(1).t().to(acc).contiguous();
  if (inputs[kBias].defined()) out.bias_C = inputs[kBias].to(acc);
  out.x_TC = x.to(acc);
  out.bounds = document_bounds(inputs[kCuSeqlens], x.size(0), kId);
  if (!inputs[kPast].defined()) return out;
  out.num_past = inputs[kPast].size(0);
  out.x_TC = at::cat({inputs[kPast].to(acc), out.x_TC});
  out.bounds = {0, out.x_TC.size(0)};
  return out;
}

/// The sums over the taps, before the activation.
at::Tensor sum_taps(const Convolution& c) {
  at::Tensor y_TC = c.x_TC * c.tap(0);
  c.each_tap([&](int64_t back, int64_t first, int64_t count) {
    y_TC.narrow(0, first, count)
        .addcmul_(c.x_TC.narrow(0, first - back, count), c.tap(back));
  });
  if (c.bias_C.defined()) y_TC.add_(c.bias_C);
  return y_TC;
}

bool is_silu(const Attributes& attributes) {
  return attributes.get_string("activation") == "silu";
}

at::Tensor without_past(const Convolution& c, const at::Tensor& x_TC) {
  return x_TC.narrow(0, c.num_past, x_TC.size(0) - c.num_past);
}

ForwardResult forward(const ForwardCall& call) {
  const Convolution c = make_convolution(call.inputs);
  at::Tensor y_TC = without_past(c, sum_taps(c));
  if (is_silu(call.attributes)) y_TC = at::silu(y_TC);
  return {{y_TC.to(call.inputs[kX].scalar_type()).contiguous()}, {}};
}

/// Gradient of the sums; of the past's own it is zero.
at::Tensor grad_of_sums(const BackwardCall& call, const Convolution& c) {
  at::Tensor grad_TC = call.grad_outputs[0].to(c.x_TC.scalar_type());
  if (is_silu(call.attributes))
    grad_TC = at::silu_backward(grad_TC, without_past(c, sum_taps(c)));
  if (c.num_past == 0) return grad_TC;
  return at::constant_pad_nd(grad_TC, {0, 0, c.num_past, 0});
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const Convolution c = make_convolution(call.inputs);
  const at::Tensor grad_TC = grad_of_sums(call, c);
  std::vector<at::Tensor> grads(5);
  if (call.want & 1 << kX) {
    at::Tensor grad_x_TC = grad_TC * c.tap(0);
    c.each_tap([&](int64_t back, int64_t first, int64_t count) {
      grad_x_TC.narrow(0, first - back, count)
          .addcmul_(grad_TC.narrow(0, first, count), c.tap(back));
    });
    grads[kX] = without_past(c, grad_x_TC)
                    .to(call.inputs[kX].scalar_type())
                    .contiguous();
  }
  if (call.want & 1 << kWeight) {
    at::Tensor grad_weight_WC = at::zeros_like(c.weight_WC);
    const auto row = [&](int64_t back) {
      return grad_weight_WC.select(0, c.num_taps() - 1 - back);
    };
    row(0).copy_((grad_TC * c.x_TC).sum(0));
    c.each_tap([&](int64_t back, int64_t first, int64_t count) {
      row(back).add_((grad_TC.narrow(0, first, count) *
                      c.x_TC.narrow(0, first - back, count))
                         .sum(0));
    });
    grads[kWeight] = grad_weight_WC.t()
                         .unsqueeze(1)
                         .to(call.inputs[kWeight].scalar_type())
                         .contiguous();
  }
  if (call.want & 1 << kBias)
    grads[kBias] = grad_TC.sum(0).to(call.inputs[kBias].scalar_type());
  return grads;
}

double flops(const Attributes&, const std::vector<TensorMeta>& in) {
  return 2.0 *
         static_cast<double>(in[kX].num_elements() * in[kWeight].sizes[2]);
}

struct Sizes {
  int64_t num_tokens, channels, taps;
  std::vector<int32_t> bounds = {};  // of documents; empty = one, unstated
  bool has_bias = false;
  int64_t num_past = 0;
};

ConformanceCase make_case(std::string name,
                          Sizes sizes,
                          Attributes attributes) {
  return {std::move(name),
          std::move(attributes),
          [=](at::ScalarType dtype, uint64_t seed) {
            at::Tensor bounds, past, bias;
            if (!sizes.bounds.empty())
              bounds = at::tensor(sizes.bounds, at::kInt);
            if (sizes.num_past > 0)
              past = random_normal(
                  {sizes.num_past, sizes.channels}, dtype, seed + 1);
            if (sizes.has_bias)
              bias = random_normal({sizes.channels}, dtype, seed + 2);
            return std::vector<at::Tensor>{
                random_normal({sizes.num_tokens, sizes.channels}, dtype, seed),
                bounds,
                past,
                random_normal({sizes.channels, 1, sizes.taps}, dtype, seed + 3),
                bias};
          }};
}

std::vector<ConformanceCase> make_cases() {
  const Attributes silu = {{"activation", std::string("silu")}};
  return {
      make_case("prime sizes, silu", {13, 7, 4, {}, true}, silu),
      make_case("no bias, no activation", {11, 5, 4}, {}),
      make_case("unequal documents", {13, 6, 4, {0, 1, 8, 8, 13}}, silu),
      make_case(
          "documents as short as the taps", {9, 3, 3, {0, 3, 5, 9}, true}, {}),
      make_case("one token", {1, 8, 4, {0, 1}, true}, silu),
      make_case("no tokens", {0, 8, 4, {0}, true}, silu),
      make_case("one tap", {5, 3, 1}, silu),
      make_case("seven taps, few tokens", {4, 3, 7}, silu),
      make_case("several tasks", {611, 275, 4, {0, 300, 301, 611}, true}, silu),
      make_case("after a past", {1, 6, 4, {0, 1}, true, 3}, silu),
      make_case("after a short past", {5, 6, 4, {}, false, 2}, {})};
}

}  // namespace

OpSpec causal_conv1d_spec() {
  OpSpec spec;
  spec.id = std::string(kId);
  spec.formula =
      "y[t, c] = activation(bias[c] + sum_j weight[c, 0, j] x[t - W + 1 + j, "
      "c]) over the taps inside t's document";
  spec.inputs = {{"x"},
                 {"cu_seqlens", true, false, true},
                 {"past", true, false, true},
                 {"weight"},
                 {"bias", true}};
  spec.outputs = {{"y"}};
  spec.attributes = {
      {"activation", std::string("none"), "of the sums", {"none", "silu"}}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.tolerances = rounding_tolerances(16, "sums of W products in acc(dtype)");
  spec.cases = make_cases;
  spec.is_stateful = true;
  spec.cache_spec = "past_inputs";
  return spec;
}

}  // namespace titan::op::reference

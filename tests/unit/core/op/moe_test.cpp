// SPDX-License-Identifier: BSD-3-Clause
// Mixture of experts: what its ops promise beyond their formulas (routing of
// equals, idle experts, the same bits each time), and that together they are
// the dense sum over experts, gradients included.
// Legend: T tokens, D features, E experts, K experts per token, F hidden dim.
#include <ATen/ATen.h>
#include <catch2/catch.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

using reference::random_ids;
using reference::random_normal;
using Tensors = std::vector<at::Tensor>;

Tensors call_op(const char* id,
                const Attributes& attributes,
                const Tensors& in) {
  Slot slot(find_op(id), "moe", "", attributes);
  return invoke(slot, in);
}

Tensors route(const Attributes& attributes, const Tensors& in) {
  return call_op("titan.moe_router/1", attributes, in);
}

std::vector<int64_t> list_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kLong).contiguous().view({-1});
  const auto* values = flat.const_data_ptr<int64_t>();
  return {values, values + flat.numel()};
}

Tensors gradients_of(const at::Tensor& output,
                     const Tensors& inputs,
                     const at::Tensor& upstream) {
  return torch::autograd::grad(
      {output}, inputs, {upstream}, std::nullopt, false, true);
}

/// All of the routed part, by the ops.
struct ExpertBlock {
  int64_t num_experts, top_k;
  Tensors operator()(const Tensors& in) const {
    const auto& [x_TD, logits_TE, w1_EFD, w2_EDF, w3_EFD] =
        std::tie(in[0], in[1], in[2], in[3], in[4]);
    const Tensors to =
        route({{"top_k", top_k}, {"normalise", true}}, {logits_TE});
    const Tensors sorted = call_op(
        "titan.moe_dispatch/1", {{"num_experts", num_experts}}, {x_TD, to[1]});
    const auto linear = [&](const at::Tensor& x, const at::Tensor& weight) {
      return call_op("titan.grouped_linear/1", {}, {x, sorted[1], weight})[0];
    };
    const at::Tensor hidden =
        call_op("titan.swiglu/1",
                {},
                {linear(sorted[0], w1_EFD), linear(sorted[0], w3_EFD)})[0];
    return {call_op("titan.moe_combine/1",
                    {},
                    {linear(hidden, w2_EDF), to[0], sorted[2]})[0],
            sorted[1]};
  }
};

Tensors block_inputs(at::ScalarType dtype, int64_t num_tokens) {
  // Seven experts, three per token, and no token wants the last expert.
  at::Tensor logits_TE = random_normal({num_tokens, 7}, dtype, 2);
  logits_TE.select(1, 6).fill_(-30);
  Tensors in = {random_normal({num_tokens, 5}, dtype, 1),
                logits_TE,
                random_normal({7, 11, 5}, dtype, 3),
                random_normal({7, 5, 11}, dtype, 4),
                random_normal({7, 11, 5}, dtype, 5)};
  for (at::Tensor& tensor : in) tensor.requires_grad_(true);
  return in;
}

/// Every token through every expert, weighted with zero where not chosen.
at::Tensor dense_formula(const Tensors& in, int64_t top_k) {
  const at::Tensor score_TE = in[1].softmax(1);
  const at::Tensor index_TK = std::get<1>(score_TE.topk(top_k, 1));
  const at::Tensor is_chosen_TE =
      at::zeros_like(score_TE).scatter(1, index_TK, 1);
  at::Tensor weight_TE = score_TE * is_chosen_TE;
  weight_TE = weight_TE / weight_TE.sum(1, true);
  at::Tensor y_TD = at::zeros_like(in[0]);
  for (int64_t e = 0; e < in[2].size(0); ++e) {
    const at::Tensor gate = in[0].matmul(in[2][e].t());
    const at::Tensor hidden = at::silu(gate) * in[0].matmul(in[4][e].t());
    y_TD = y_TD + weight_TE.narrow(1, e, 1) * hidden.matmul(in[3][e].t());
  }
  return y_TD;
}

double norm_error(const at::Tensor& got, const at::Tensor& expected) {
  return ((got - expected).norm() / expected.norm()).item<double>();
}

}  // namespace

TEST_CASE("a block of experts equals the dense sum, gradients included") {
  const Tensors in = block_inputs(at::kDouble, 23);
  const at::Tensor y_TD = ExpertBlock{7, 3}(in)[0];
  const at::Tensor expected_TD = dense_formula(in, 3);
  const at::Tensor upstream = random_normal({23, 5}, at::kDouble, 9);
  // Sums of 5 to 33 terms in float64, in another order; slack 20.
  constexpr double kTolerance = 1e-13;
  CHECK(norm_error(y_TD, expected_TD) < kTolerance);
  const Tensors got = gradients_of(y_TD, in, upstream);
  const Tensors expected = gradients_of(expected_TD, in, upstream);
  for (size_t i = 0; i < in.size(); ++i) {
    INFO("input " << i);
    CHECK(norm_error(got[i], expected[i]) < kTolerance);
  }
}

TEST_CASE("experts without tokens have gradients of exact zero") {
  const Tensors in = block_inputs(at::kFloat, 17);
  const Tensors out = ExpertBlock{7, 3}(in);
  CHECK(list_of(out[1])[7] == list_of(out[1])[6]);
  const Tensors got = gradients_of(out[0], in, at::ones_like(out[0]));
  for (size_t i = 2; i < 5; ++i) {
    CHECK(got[i][6].eq(0).all().item<bool>());
    CHECK(got[i][0].ne(0).any().item<bool>());
  }
}

TEST_CASE("weights of experts without tokens reach nothing, NaN included") {
  Tensors in = block_inputs(at::kFloat, 17);
  const Tensors expected_out = ExpertBlock{7, 3}(in);
  const Tensors expected =
      gradients_of(expected_out[0], in, at::ones_like(expected_out[0]));
  for (size_t i = 2; i < 5; ++i) {
    in[i] = in[i].detach().clone();
    in[i][6].fill_(NAN);
    in[i].requires_grad_(true);
  }
  const at::Tensor y_TD = ExpertBlock{7, 3}(in)[0];
  CHECK(at::equal(y_TD, expected_out[0]));
  const Tensors got = gradients_of(y_TD, in, at::ones_like(y_TD));
  for (size_t i = 0; i < in.size(); ++i) CHECK(at::equal(got[i], expected[i]));
}

TEST_CASE("one expert that takes all is a linear layer, to the bit") {
  const at::Tensor x_RI = random_normal({19, 8}, at::kFloat, 1);
  const at::Tensor weight_EOI = random_normal({3, 6, 8}, at::kFloat, 2);
  const at::Tensor offsets = at::tensor({0, 0, 19, 19}, at::kInt);
  const at::Tensor got =
      call_op("titan.grouped_linear/1", {}, {x_RI, offsets, weight_EOI})[0];
  CHECK(at::equal(got,
                  call_op("titan.linear/1", {}, {x_RI, weight_EOI[1], {}})[0]));
}

TEST_CASE("the same inputs give the same bits, forward and backward") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const Tensors in = block_inputs(dtype, 301);
    const Tensors first = ExpertBlock{7, 3}(in);
    const at::Tensor upstream = random_normal({301, 5}, dtype, 9);
    const Tensors expected = gradients_of(first[0], in, upstream);
    for (int repeat = 0; repeat < 5; ++repeat) {
      const Tensors again = ExpertBlock{7, 3}(in);
      CHECK(at::equal(again[0], first[0]));
      const Tensors got = gradients_of(again[0], in, upstream);
      for (size_t i = 0; i < in.size(); ++i)
        CHECK(at::equal(got[i], expected[i]));
    }
  }
}

TEST_CASE("equal choices fall to the lower index, in groups too") {
  const at::Tensor logits = at::zeros({2, 8}, at::kFloat);
  CHECK(list_of(route({{"top_k", int64_t{3}}}, {logits})[1]) ==
        std::vector<int64_t>{0, 1, 2, 0, 1, 2});
  const at::Tensor some =
      at::tensor({0., 5., 1., 5., 5., 1., 5., 0.}).to(at::kFloat).view({1, 8});
  CHECK(list_of(route({{"top_k", int64_t{5}}}, {some})[1]) ==
        std::vector<int64_t>{1, 3, 4, 6, 2});
  // Groups {0, 5}, {1, 5}, {5, 1}, {5, 0} are worth 5, 6, 6, 5.
  CHECK(list_of(route({{"top_k", int64_t{3}},
                       {"score", std::string("sigmoid")},
                       {"num_groups", int64_t{4}},
                       {"num_limited_groups", int64_t{3}}},
                      {some})[1]) == std::vector<int64_t>{1, 3, 4});
}

TEST_CASE("only experts of the best groups are chosen") {
  // The best expert is alone in its group: by the sum of two it loses, by the
  // best one it wins.
  const at::Tensor logits =
      at::tensor({4., -9., 3., 3., 2., 2.}).to(at::kFloat).view({1, 6});
  Attributes attributes = {{"top_k", int64_t{2}},
                           {"score", std::string("sigmoid")},
                           {"num_groups", int64_t{3}},
                           {"num_limited_groups", int64_t{1}}};
  CHECK(list_of(route(attributes, {logits})[1]) == std::vector<int64_t>{2, 3});
  attributes.set("group_top", int64_t{1});
  CHECK(list_of(route(attributes, {logits})[1]) == std::vector<int64_t>{0, 1});
}

// Case NUM-05, with its numbers.
TEST_CASE("weights are normalised where they should be, and scaled always") {
  const at::Tensor logits =
      at::logit(at::tensor({.9, .6, .3, .1})).view({1, 4});
  Attributes attributes = {{"top_k", int64_t{2}},
                           {"score", std::string("sigmoid")},
                           {"scale", 2.5},
                           {"normalise", true}};
  const auto weights = [&](const Tensors& in) {
    return route(attributes, in)[0].view({-1});
  };
  const auto close = [](const at::Tensor& got, std::vector<double> expected) {
    return at::allclose(got.to(at::kDouble), at::tensor(expected), 1e-6, 0);
  };
  CHECK(close(weights({logits}), {1.5, 1.0}));
  attributes.set("normalise", false);
  CHECK(close(weights({logits}), {2.5 * .9, 2.5 * .6}));
  // A bias chooses the third and fourth, whose weights stay theirs.
  const at::Tensor bias = at::tensor({0., 0., 1., 1.});
  CHECK(close(weights({logits, bias}), {2.5 * .3, 2.5 * .1}));
  attributes.set("num_groups", int64_t{2});
  attributes.set("num_limited_groups", int64_t{1});
  CHECK(close(weights({logits, bias}), {2.5 * .3, 2.5 * .1}));
  CHECK(close(weights({logits}), {2.5 * .9, 2.5 * .6}));
}

TEST_CASE("the bias moves the choice and never the weight") {
  const at::Tensor logits =
      random_normal({9, 6}, at::kDouble, 4).requires_grad_(true);
  const Attributes attributes = {{"top_k", int64_t{2}},
                                 {"score", std::string("sigmoid")}};
  at::Tensor bias = at::zeros({6}, at::kFloat);
  bias[4] = 10;
  const Tensors biased = route(attributes, {logits, bias});
  CHECK(biased[1].select(1, 0).eq(4).all().item<bool>());
  CHECK(biased[2][4].item<int64_t>() == 9);
  CHECK(at::equal(biased[0], logits.sigmoid().gather(1, biased[1])));
  const Tensors given = route(attributes, {logits, {}, biased[1]});
  CHECK(at::equal(given[0], biased[0]));
  CHECK(at::equal(given[2], biased[2]));
  const at::Tensor upstream = random_normal({9, 2}, at::kDouble, 5);
  CHECK(at::equal(gradients_of(biased[0], {logits}, upstream)[0],
                  gradients_of(given[0], {logits}, upstream)[0]));
}

TEST_CASE("copies of an expert's tokens stay in token order") {
  const at::Tensor index_TK =
      at::tensor({2, 0, 0, 2, 2, 1}, at::kLong).view({3, 2});
  const at::Tensor x_TD =
      at::arange(3, at::kFloat).view({3, 1}).expand({3, 4}).contiguous();
  const Tensors out = call_op(
      "titan.moe_dispatch/1", {{"num_experts", int64_t{4}}}, {x_TD, index_TK});
  CHECK(list_of(out[0].select(1, 0)) == std::vector<int64_t>{0, 1, 2, 0, 1, 2});
  CHECK(list_of(out[1]) == std::vector<int64_t>{0, 2, 3, 6, 6});
  CHECK(list_of(out[2]) == std::vector<int64_t>{3, 0, 1, 4, 5, 2});
}

TEST_CASE("weights in float32 are not rounded to the rows' bf16") {
  const at::Tensor rows = random_normal({8, 3}, at::kBFloat16, 1);
  const at::Tensor weights = random_normal({4, 2}, at::kFloat, 2);
  const at::Tensor place = at::arange(8, at::kLong).view({4, 2});
  const at::Tensor got =
      call_op("titan.moe_combine/1", {}, {rows, weights, place})[0];
  const at::Tensor exact = (rows.to(at::kDouble).view({4, 2, 3}) *
                            weights.to(at::kDouble).unsqueeze(2))
                               .sum(1);
  CHECK(at::equal(got, exact.to(at::kBFloat16)));
}

TEST_CASE("what does not fit is refused with both numbers") {
  const at::Tensor logits = at::zeros({2, 6}, at::kFloat);
  CHECK_THROWS_WITH(route({{"top_k", int64_t{7}}}, {logits}),
                    Catch::Contains("expected 1 to 6 experts, got 7"));
  CHECK_THROWS_WITH(
      route({{"top_k", int64_t{1}}, {"num_groups", int64_t{4}}}, {logits}),
      Catch::Contains("expected a divisor of 6 experts, got 4"));
  CHECK_THROWS_WITH(route({{"top_k", int64_t{3}},
                           {"num_groups", int64_t{3}},
                           {"num_limited_groups", int64_t{1}}},
                          {logits}),
                    Catch::Contains("top_k 3 experts, got 2"));
  const at::Tensor x = at::zeros({2, 3}, at::kFloat);
  CHECK_THROWS_WITH(call_op("titan.moe_dispatch/1",
                            {{"num_experts", int64_t{4}}},
                            {x, at::full({2, 1}, 4, at::kLong)}),
                    Catch::Contains("expert: expected 0 to 3, got 4"));
  CHECK_THROWS_WITH(call_op("titan.grouped_linear/1",
                            {},
                            {x,
                             at::tensor({0, 1, 3}, at::kInt),
                             at::zeros({2, 4, 3}, at::kFloat)}),
                    Catch::Contains("expected 0 to 2 rows, got 0 to 3"));
}

}  // namespace titan::op

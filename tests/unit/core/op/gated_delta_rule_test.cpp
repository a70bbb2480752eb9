// SPDX-License-Identifier: BSD-3-Clause
// The delta rule beyond reference_test.cpp: published vectors, chunk sizes,
// documents, states, and what backward holds in memory.
#include <algorithm>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

using Tensors = std::vector<at::Tensor>;

const OpSpec& delta_rule() {
  return find_op("titan.gated_delta_rule/1");
}

/// q, k, v, g, beta of one head dim, seeded.
Tensors draw(int64_t num_tokens, at::ScalarType dtype, uint64_t seed = 3) {
  const auto normal = [&](at::IntArrayRef sizes, uint64_t which) {
    return reference::random_normal(sizes, dtype, seed + which);
  };
  return {normal({num_tokens, 2, 8}, 0),
          normal({num_tokens, 2, 8}, 1),
          normal({num_tokens, 4, 6}, 2),
          normal({num_tokens, 4}, 3).abs_().mul_(-0.3),
          normal({num_tokens, 4}, 4).sigmoid_()};
}

struct DeltaRun {
  at::Tensor out;
  Tensors grads;  // of q, k, v, g, beta
};

DeltaRun run_rule(Slot& slot, Tensors inputs, const at::Tensor& cu_seqlens) {
  for (at::Tensor& input : inputs) input = input.detach().requires_grad_(true);
  const Tensors wanted = inputs;
  inputs.push_back(cu_seqlens);
  const at::Tensor out = invoke(slot, inputs)[0];
  const at::Tensor upstream =
      at::cos(at::arange(out.numel(), at::kDouble)).view(out.sizes());
  return {
      out.detach(),
      torch::autograd::grad({out}, wanted, {upstream.to(out.scalar_type())})};
}

/// Norm of the difference over that of `expected`; a gradient that is zero has
/// no error of its own to be relative to.
double relative(const at::Tensor& got, const at::Tensor& expected) {
  const double size = expected.norm().item<double>();
  return (got - expected).norm().item<double>() / std::max(size, 1e-3);
}

at::Tensor column(std::vector<double> values) {
  return at::tensor(values, at::kDouble);
}

}  // namespace

// Computed apart from this code, by a scalar loop in float64.
TEST_CASE("the delta rule gives the published numbers in every chunk size",
          "[unit]") {
  const auto rows = [](const std::vector<double>& values) {
    return column(values).view({5, 1, 2});
  };
  const Tensors inputs = {
      rows({-.75, 0, .75, -.25, .5, -.5, .25, -.75, 0, .75}),
      rows({-.75, .5, 0, -.5, .75, .25, -.25, -.75, .5, 0}),
      rows({-.75, -.25, .25, .75, -.5, 0, .5, -.75, -.25, .25}),
      column({-.375, -.5, -.625, -.3125, -.4375}).view({5, 1}),
      column({.1, .3, .5, .7, .9}).view({5, 1}),
      at::Tensor(),
      at::zeros({1, 1, 2, 2}, at::kDouble)};
  const at::Tensor out = rows({-.0421875,
                               -.0140625,
                               .040222770271,
                               .038407590090,
                               -.038435163147,
                               .036457375674,
                               .166397112017,
                               -.237632331104,
                               -.139451405524,
                               .176752993335});
  const at::Tensor state =
      column({-.211753801579, .184810689670, -.185935207365, .235670657779})
          .view({1, 1, 2, 2});
  for (const int64_t chunk_size : {1, 2, 3, 5, 64}) {
    INFO("chunk_size " << chunk_size);
    Slot slot(
        delta_rule(),
        "layer",
        "",
        {{"scale", 1.0}, {"qk_norm_eps", 0.0}, {"chunk_size", chunk_size}});
    const Tensors got = invoke(slot, inputs);
    // Twelve decimals are given.
    CHECK((got[0] - out).abs().max().item<double>() < 2e-12);
    CHECK((got[1] - state).abs().max().item<double>() < 2e-12);
  }
}

TEST_CASE("the delta rule's chunked form equals its recurrence", "[unit]") {
  const Tensors inputs = draw(150, at::kDouble);
  Slot recurrent(delta_rule(), "layer", "", {{"chunk_size", int64_t{1}}});
  const DeltaRun expected = run_rule(recurrent, inputs, {});
  for (const int64_t chunk_size : {2, 16, 64, 150, 200}) {
    INFO("chunk_size " << chunk_size);
    Slot chunked(delta_rule(), "layer", "", {{"chunk_size", chunk_size}});
    const DeltaRun got = run_rule(chunked, inputs, {});
    // Measured at most 4e-15.
    CHECK(relative(got.out, expected.out) < 2e-14);
    for (size_t i = 0; i < got.grads.size(); ++i)
      CHECK(relative(got.grads[i], expected.grads[i]) < 2e-14);
  }
}

// Case NUM-14, a document of no tokens among them.
TEST_CASE("packed documents are computed as if each were alone", "[unit]") {
  const std::vector<int32_t> bounds = {0, 1, 65, 65, 70, 200};
  const Tensors packed = draw(200, at::kFloat);
  Slot slot(delta_rule(), "layer", "", {});
  const DeltaRun together =
      run_rule(slot, packed, at::tensor(bounds, at::kInt));
  const at::Tensor upstream = at::cos(at::arange(200 * 4 * 6, at::kDouble))
                                  .view({200, 4, 6})
                                  .to(at::kFloat);
  for (size_t document = 0; document + 1 < bounds.size(); ++document) {
    const int64_t begin = bounds[document];
    const int64_t length = bounds[document + 1] - begin;
    if (length == 0) continue;
    INFO("document " << document);
    Tensors alone;
    for (const at::Tensor& input : packed)
      alone.push_back(
          input.narrow(0, begin, length).clone().requires_grad_(true));
    const at::Tensor out = invoke(slot, alone)[0];
    const Tensors grads = torch::autograd::grad(
        {out}, alone, {upstream.narrow(0, begin, length)});
    CHECK(relative(together.out.narrow(0, begin, length), out) < 1e-6);
    for (size_t i = 0; i < grads.size(); ++i)
      CHECK(relative(together.grads[i].narrow(0, begin, length), grads[i]) <
            2e-6);
  }
}

TEST_CASE("a poisoned document leaves the delta rule's others clean",
          "[unit]") {
  Tensors inputs = draw(20, at::kFloat);
  for (at::Tensor& input : inputs) input.narrow(0, 0, 7).fill_(NAN);
  inputs.push_back(at::tensor({0, 7, 20}, at::kInt));
  Slot slot(delta_rule(), "layer", "", {{"chunk_size", int64_t{4}}});
  const at::Tensor out = invoke(slot, inputs)[0];
  CHECK(at::isnan(out.narrow(0, 0, 7)).all().item<bool>());
  CHECK_FALSE(at::isnan(out.narrow(0, 7, 13)).any().item<bool>());
}

// Case NUM-14: split runs equal the whole.
TEST_CASE("the delta rule continues from the state it returned", "[unit]") {
  const Tensors inputs = draw(37, at::kDouble);
  Slot slot(delta_rule(), "layer", "", {{"chunk_size", int64_t{8}}});
  const at::Tensor whole = invoke(slot, inputs)[0];
  at::Tensor state = at::zeros({1, 4, 8, 6}, at::kDouble);
  int64_t token = 0;
  for (const int64_t count : {20, 1, 1, 15}) {
    Tensors part;
    for (const at::Tensor& input : inputs)
      part.push_back(input.narrow(0, token, count));
    part.push_back(at::Tensor());
    part.push_back(state);
    const Tensors got = invoke(slot, part);
    CHECK(relative(got[0], whole.narrow(0, token, count)) < 1e-13);
    state = got[1];
    token += count;
  }
}

TEST_CASE("strong decay does not overflow the chunked form", "[unit]") {
  Tensors inputs = draw(64, at::kFloat);
  // e^(64 * 20) is beyond every floating type.
  inputs[3] = at::full_like(inputs[3], -20.0);
  Slot chunked(delta_rule(), "layer", "", {});
  Slot recurrent(delta_rule(), "layer", "", {{"chunk_size", int64_t{1}}});
  const DeltaRun got = run_rule(chunked, inputs, {});
  const DeltaRun expected = run_rule(recurrent, inputs, {});
  CHECK(relative(got.out, expected.out) < 1e-6);
  for (const size_t i : {0, 1, 2, 4})
    CHECK(relative(got.grads[i], expected.grads[i]) < 1e-5);
  CHECK(at::isfinite(got.grads[3]).all().item<bool>());
}

TEST_CASE("the delta rule refuses shapes that do not fit", "[unit]") {
  Slot slot(delta_rule(), "layers.0.attn", "rule", {});
  Tensors inputs = draw(5, at::kFloat);
  Tensors heads = inputs;
  heads[2] = heads[2].narrow(1, 0, 3);
  CHECK_THROWS_WITH(invoke(slot, heads),
                    Catch::Contains("v heads: expected a multiple of the 2 "
                                    "heads of q and k, got 3"));
  Tensors state = inputs;
  state.push_back(at::Tensor());
  state.push_back(at::zeros({2, 4, 8, 6}));
  CHECK_THROWS_WITH(
      invoke(slot, state),
      Catch::Contains("[titan.gated_delta_rule/1 at layers.0.attn.rule]") &&
          Catch::Contains("initial_state shape: expected"));
  Tensors bounds = inputs;
  bounds.push_back(at::tensor({0, 4}, at::kInt));
  CHECK_THROWS_WITH(invoke(slot, bounds),
                    Catch::Contains("cu_seqlens: expected 0 to 5, got 0 to 4"));
}

}  // namespace titan::op

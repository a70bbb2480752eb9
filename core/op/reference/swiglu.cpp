// SPDX-License-Identifier: BSD-3-Clause
// titan.swiglu/1: y = silu(gate) * up. silu is rounded to the dtype before the
// product, as PyTorch's F.silu(gate) * up does.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kGate, kUp };

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kGate], "gate");
  expect_dtype(in[kUp], "up", in[kGate].dtype);
  TITAN_USER_CHECK(in[kUp].sizes == in[kGate].sizes,
                   "up shape: expected that of gate ",
                   in[kGate].sizes,
                   ", got ",
                   in[kUp].sizes);
  return {{in[kGate]}, {}};
}

ForwardResult forward(const ForwardCall& call) {
  return {{at::silu(call.inputs[kGate]).mul_(call.inputs[kUp])}, {}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& grad = call.grad_outputs[0];
  std::vector<at::Tensor> grads(2);
  if (call.want & 1 << kGate)
    grads[kGate] =
        at::silu_backward(grad * call.inputs[kUp], call.inputs[kGate]);
  if (call.want & 1 << kUp)
    grads[kUp] = at::silu(call.inputs[kGate]).mul_(grad);
  return grads;
}

double flops(const Attributes&, const std::vector<TensorMeta>& in) {
  return 5.0 * static_cast<double>(in[kGate].num_elements());
}

ConformanceCase make_case(std::string name, std::vector<int64_t> sizes) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            return std::vector<at::Tensor>{
                random_normal(sizes, dtype, seed),
                random_normal(sizes, dtype, seed + 1)};
          }};
}

}  // namespace

OpSpec swiglu_spec() {
  OpSpec spec;
  spec.id = "titan.swiglu/1";
  spec.formula = "y = gate * sigmoid(gate) * up";
  spec.inputs = {{"gate"}, {"up"}};
  spec.outputs = {{"y"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.tolerances =
      rounding_tolerances(6, "two roundings forward, three backward; slack 2");
  spec.cases = [] {
    return std::vector<ConformanceCase>{make_case("prime sizes", {7, 13}),
                                        make_case("one element", {1}),
                                        make_case("no rows", {0, 8}),
                                        make_case("three dims", {2, 3, 65}),
                                        make_case("several tasks", {331, 211})};
  };
  return spec;
}

}  // namespace titan::op::reference

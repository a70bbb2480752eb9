// SPDX-License-Identifier: BSD-3-Clause
// y = f(x), or f(x) up, in one pass; both gradients in another. Inputs are x,
// up (may be absent). f(x), and the gradient of f(x) when there is an up, are
// rounded as the reference rounds them.
#pragma once

#include "plugins/kernels/simd/activations.h"
#include "plugins/kernels/simd/lanes.h"
#include "plugins/kernels/simd/tensor_rows.h"

namespace titan::kernels::activation {

template <typename Element>
Element* at_or_null(const TensorRows<Element>& rows, int64_t row, int64_t at) {
  return rows.defined() ? rows.row(row) + at : nullptr;
}

template <typename F, typename Element>
void gated_forward(const Call& call) {
  const TensorRows<const Element> xs(call.in(0)), ups(call.in(1));
  const TensorRows<Element> ys(call.out(0));
  const auto piece = [&](int64_t row, int64_t first, int64_t size) {
    const Element* x = xs.row(row) + first;
    const Element* up = at_or_null(ups, row, first);
    Element* y = ys.row(row) + first;
    if (up == nullptr) {
      each_vector(
          size, [&](auto place) { store(F::value(load(x, place)), y, place); });
    } else {
      each_vector(size, [&](auto place) {
        const Vec value = round_to<Element>(F::value(load(x, place)));
        store(hn::Mul(value, load(up, place)), y, place);
      });
    }
  };
  for_pieces(xs.count(), xs.columns(), xs.is_dense() && ups.is_dense(), piece);
}

template <typename F, typename Element>
void gated_backward(const Call& call) {
  const TensorRows<const Element> xs(call.in(0)), ups(call.in(1)),
      grads(only_grad(call));
  const TensorRows<Element> grad_xs(call.out(0)), grad_ups(call.out(1));
  const auto piece = [&](int64_t row, int64_t first, int64_t size) {
    const Element* x = xs.row(row) + first;
    const Element* up = at_or_null(ups, row, first);
    const Element* grad = grads.row(row) + first;
    Element* grad_x = at_or_null(grad_xs, row, first);
    Element* grad_up = at_or_null(grad_ups, row, first);
    each_vector(size, [&](auto place) {
      const ValueAndSlope f = F::both(load(x, place));
      const Vec upstream = load(grad, place);
      if (grad_x != nullptr) {
        const Vec of_value =
            up == nullptr
                ? upstream
                : round_to<Element>(hn::Mul(upstream, load(up, place)));
        store(hn::Mul(of_value, f.slope), grad_x, place);
      }
      if (grad_up != nullptr)
        store(hn::Mul(round_to<Element>(f.value), upstream), grad_up, place);
    });
  };
  for_pieces(xs.count(),
             xs.columns(),
             xs.is_dense() && ups.is_dense() && grads.is_dense(),
             piece);
}

}  // namespace titan::kernels::activation

// SPDX-License-Identifier: BSD-3-Clause
// Legend: D features; n = x rstd, h = gradient times weight.
#include "plugins/kernels/rms_norm/rms_norm_cpu.h"

#include <cmath>

#include "plugins/kernels/simd/lanes.h"
#include "plugins/kernels/simd/parameters.h"
#include "plugins/kernels/simd/tensor_rows.h"

namespace titan::kernels {
namespace {

enum Input { kX, kWeight };

/// Rounds to Element wherever the reference does.
template <typename Element>
float rounded(float value) {
  Element out;
  from_float(value, out);
  return to_float(out);
}

/// weight or offset + weight in fp32; empty without a weight. Cast before the
/// weight: a number that Element can hold.
template <typename Element>
Scratch factors_of(const Call& call, bool is_cast) {
  Scratch factors = floats_of(call.in(kWeight));
  const auto offset =
      static_cast<float>(call.attributes().get("offset", int64_t{0}));
  for (float& factor : factors) {
    if (is_cast) factor = rounded<Element>(factor);
    if (offset != 0) factor += offset;
    if (is_cast) factor = rounded<Element>(factor);
  }
  return factors;
}

template <typename Element>
float rstd_of(const Element* x, int64_t size, float eps) {
  const float sum = sum_of_vectors(size, [&](auto place, Vec partial) {
    const Vec value = load(x, place);
    return hn::MulAdd(value, value, partial);
  });
  return 1 / std::sqrt(sum / static_cast<float>(size) + eps);
}

template <typename Element>
void forward_rows(const Call& call) {
  const AttributeView attributes = call.attributes();
  const bool is_cast = attributes.get("cast_before_weight", false);
  const auto eps = static_cast<float>(attributes.get("eps", 1e-5));
  const Scratch factors = factors_of<Element>(call, is_cast);
  const TensorRows<const Element> x(call.in(kX));
  const TensorRows<Element> y(call.out(0));
  float* const rstds = call.num_saved() > 0 && call.saved(0).defined()
                           ? call.saved(0).data<float>()
                           : nullptr;
  const int64_t size = x.columns();
  const auto write = [&](int64_t row, float rstd, const auto& weigh) {
    const Element* in = x.row(row);
    Element* out = y.row(row);
    const Vec scale = broadcast(rstd);
    each_vector(size, [&](auto place) {
      store(weigh(hn::Mul(load(in, place), scale), place), out, place);
    });
  };
  for_rows(x.count(), size, [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      const float rstd = rstd_of(x.row(row), size, eps);
      if (rstds != nullptr) rstds[row] = rstd;
      if (factors.empty()) {
        write(row, rstd, [](Vec normed, auto) { return normed; });
      } else if (is_cast) {
        write(row, rstd, [&](Vec normed, auto place) {
          return hn::Mul(round_to<Element>(normed),
                         load(factors.data(), place));
        });
      } else {
        write(row, rstd, [&](Vec normed, auto place) {
          return hn::Mul(normed, load(factors.data(), place));
        });
      }
    }
  });
}

template <typename Element>
struct Backward {
  TensorRows<const Element> x, grad;
  TensorRows<Element> grad_x;
  const float* rstds;
  const float* factors;  // [D]

  int64_t size() const { return x.columns(); }

  /// dx = rstd (h - n mean(h n)).
  void write_grad_x(int64_t row) const {
    const Element* in = x.row(row);
    const Element* upstream = grad.row(row);
    Element* out = grad_x.row(row);
    const float rstd = rstds[row];
    const float sum = sum_of_vectors(size(), [&](auto place, Vec partial) {
      const Vec h = hn::Mul(load(upstream, place), load(factors, place));
      return hn::MulAdd(h, load(in, place), partial);
    });
    const Vec scale = broadcast(rstd);
    const Vec mean = broadcast(sum * rstd / static_cast<float>(size()));
    each_vector(size(), [&](auto place) {
      const Vec h = hn::Mul(load(upstream, place), load(factors, place));
      const Vec n = hn::Mul(load(in, place), scale);
      store(hn::Mul(hn::NegMulAdd(n, mean, h), scale), out, place);
    });
  }

  /// dw += gradient n.
  void add_grad_weight(int64_t row, float* sums) const {
    const Element* in = x.row(row);
    const Element* upstream = grad.row(row);
    const Vec scale = broadcast(rstds[row]);
    each_vector(size(), [&](auto place) {
      const Vec n = hn::Mul(load(in, place), scale);
      store(
          hn::MulAdd(load(upstream, place), n, load(sums, place)), sums, place);
    });
  }
};

template <typename Element>
void backward_rows(const Call& call) {
  const Tensor rstds = call.saved(0).retain().contiguous();
  Scratch factors = factors_of<Element>(call, false);
  Backward<Element> problem{TensorRows<const Element>(call.in(kX)),
                            TensorRows<const Element>(only_grad(call)),
                            {},
                            rstds.data<const float>(),
                            nullptr};
  if (factors.empty())
    factors.assign(static_cast<size_t>(problem.size()), 1.0f);
  problem.factors = factors.data();
  if (call.wants(kX)) problem.grad_x = TensorRows<Element>(call.out(kX));
  GroupSums sums(problem.x.count(), call.wants(kWeight) ? problem.size() : 0);
  sums.each_group([&](int64_t row, int64_t end, float* partial) {
    for (; row < end; ++row) {
      if (call.wants(kX)) problem.write_grad_x(row);
      if (partial != nullptr) problem.add_grad_weight(row, partial);
    }
  });
  if (call.wants(kWeight)) sums.write(call.out(kWeight));
}

}  // namespace

int RmsNormCpu::score(const Shapes& shapes) const {
  return is_parameter(shapes, kWeight)
             ? 500
             : shapes.refuse("a weight neither fp32 nor bf16");
}

void RmsNormCpu::forward(const Call& call) const {
  if (call.in(kX).dtype() == Dtype::kBF16) {
    forward_rows<BFloat16>(call);
  } else {
    forward_rows<float>(call);
  }
}

void RmsNormCpu::backward(const Call& call) const {
  if (call.in(kX).dtype() == Dtype::kBF16) {
    backward_rows<BFloat16>(call);
  } else {
    backward_rows<float>(call);
  }
}

}  // namespace titan::kernels

// SPDX-License-Identifier: BSD-3-Clause
// Legend: D features; n = (x - mean) rstd, h = gradient times weight.
#include "plugins/kernels/layer_norm/layer_norm_cpu.h"

#include <cmath>

#include "plugins/kernels/simd/parameters.h"

namespace titan::kernels {
namespace {

enum Input { kX, kWeight, kBias };
enum Saved { kMean, kRstd };

float* saved_or_null(const Call& call, uint32_t i) {
  return call.num_saved() > i && call.saved(i).defined()
             ? call.saved(i).data<float>()
             : nullptr;
}

/// The parameter in fp32, or `size` times `otherwise`.
Scratch floats_or(TensorView parameter, int64_t size, float otherwise) {
  return parameter.defined() ? floats_of(parameter)
                             : Scratch(static_cast<size_t>(size), otherwise);
}

template <typename Element>
void forward_rows(const Call& call) {
  const auto eps = static_cast<float>(call.attributes().get("eps", 1e-5));
  const TensorRows<const Element> xs(call.in(kX));
  const TensorRows<Element> ys(call.out(0));
  const int64_t size = xs.columns();
  const auto count = static_cast<float>(size);
  const Scratch weight = floats_or(call.in(kWeight), size, 1.0f);
  const Scratch bias = floats_or(call.in(kBias), size, 0.0f);
  float* const means = saved_or_null(call, kMean);
  float* const rstds = saved_or_null(call, kRstd);
  for_rows(xs.count(), size, [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      const Element* x = xs.row(row);
      Element* y = ys.row(row);
      const float mean = sum_of_vectors(size,
                                        [&](auto place, Vec sum) {
                                          return hn::Add(sum, load(x, place));
                                        }) /
                         count;
      const Vec center = broadcast(mean);
      const float squares = sum_of_vectors(size, [&](auto place, Vec sum) {
        const Vec d = only(hn::Sub(load(x, place), center), place);
        return hn::MulAdd(d, d, sum);
      });
      const float rstd = 1 / std::sqrt(squares / count + eps);
      if (means != nullptr) means[row] = mean;
      if (rstds != nullptr) rstds[row] = rstd;
      const Vec scale = broadcast(rstd);
      each_vector(size, [&](auto place) {
        const Vec n = hn::Mul(hn::Sub(load(x, place), center), scale);
        store(
            hn::MulAdd(n, load(weight.data(), place), load(bias.data(), place)),
            y,
            place);
      });
    }
  });
}

template <typename Element>
struct Backward {
  TensorRows<const Element> xs, grads;
  TensorRows<Element> grad_xs;
  Scratch weight;
  Tensor means, rstds;

  int64_t size() const { return xs.columns(); }
  Vec center(int64_t row) const {
    return broadcast(means.data<const float>()[row]);
  }
  Vec scale(int64_t row) const {
    return broadcast(rstds.data<const float>()[row]);
  }

  /// dx = rstd (h - mean(h) - n mean(h n)).
  void write_grad_x(int64_t row) const {
    const Element* x = xs.row(row);
    const Element* grad = grads.row(row);
    Element* out = grad_xs.row(row);
    const Vec rstd = scale(row), mean = center(row);
    const auto normed = [&](auto place) {
      return hn::Mul(hn::Sub(load(x, place), mean), rstd);
    };
    const auto weighted = [&](auto place) {
      return hn::Mul(load(grad, place), load(weight.data(), place));
    };
    const auto count = static_cast<float>(size());
    const float sum_h = sum_of_vectors(size(), [&](auto place, Vec sum) {
      return hn::Add(sum, weighted(place));
    });
    const float sum_hn = sum_of_vectors(size(), [&](auto place, Vec sum) {
      return hn::MulAdd(weighted(place), normed(place), sum);
    });
    const Vec mean_h = broadcast(sum_h / count);
    const Vec mean_hn = broadcast(sum_hn / count);
    each_vector(size(), [&](auto place) {
      const Vec rest = hn::Sub(weighted(place), mean_h);
      store(hn::Mul(hn::NegMulAdd(normed(place), mean_hn, rest), rstd),
            out,
            place);
    });
  }

  /// dw += gradient n, then db += gradient.
  void add_parameters(int64_t row, float* sums) const {
    const Element* x = xs.row(row);
    const Element* grad = grads.row(row);
    const Vec rstd = scale(row), mean = center(row);
    float* bias_sums = sums + size();
    each_vector(size(), [&](auto place) {
      const Vec n = hn::Mul(hn::Sub(load(x, place), mean), rstd);
      const Vec upstream = load(grad, place);
      store(hn::MulAdd(upstream, n, load(sums, place)), sums, place);
      store(hn::Add(load(bias_sums, place), upstream), bias_sums, place);
    });
  }
};

template <typename Element>
void backward_rows(const Call& call) {
  Backward<Element> problem{TensorRows<const Element>(call.in(kX)),
                            TensorRows<const Element>(only_grad(call)),
                            {},
                            {},
                            call.saved(kMean).retain().contiguous(),
                            call.saved(kRstd).retain().contiguous()};
  const int64_t size = problem.size();
  problem.weight = floats_or(call.in(kWeight), size, 1.0f);
  if (call.wants(kX)) problem.grad_xs = TensorRows<Element>(call.out(kX));
  const bool has_sums = call.wants(kWeight) || call.wants(kBias);
  GroupSums sums(problem.xs.count(), has_sums ? 2 * size : 0);
  sums.each_group([&](int64_t row, int64_t end, float* partial) {
    for (; row < end; ++row) {
      if (call.wants(kX)) problem.write_grad_x(row);
      if (partial != nullptr) problem.add_parameters(row, partial);
    }
  });
  if (call.wants(kWeight)) sums.write(call.out(kWeight));
  if (call.wants(kBias)) sums.write(call.out(kBias), size);
}

}  // namespace

int LayerNormCpu::score(const Shapes& shapes) const {
  return is_parameter(shapes, kWeight) && is_parameter(shapes, kBias)
             ? 500
             : shapes.refuse("a weight or bias neither fp32 nor bf16");
}

void LayerNormCpu::forward(const Call& call) const {
  if (call.in(kX).dtype() == Dtype::kBF16) {
    forward_rows<BFloat16>(call);
  } else {
    forward_rows<float>(call);
  }
}

void LayerNormCpu::backward(const Call& call) const {
  if (call.in(kX).dtype() == Dtype::kBF16) {
    backward_rows<BFloat16>(call);
  } else {
    backward_rows<float>(call);
  }
}

}  // namespace titan::kernels

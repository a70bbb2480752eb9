// SPDX-License-Identifier: BSD-3-Clause
// Legend: T tokens, C channels, W taps; `back` = how many tokens before.
#include "plugins/kernels/causal_conv1d/causal_conv1d_cpu.h"

#include <vector>

#include "plugins/kernels/simd/activations.h"
#include "plugins/kernels/simd/parameters.h"

namespace titan::kernels {
namespace {

enum Input { kX, kCuSeqlens, kPast, kWeight, kBias };

/// Channels of a task: 1 KiB of fp32 per token.
constexpr int64_t kBand = 256;
/// Tokens of a task in forward, and those whose gradients of the taps are
/// summed before they join the others.
constexpr int64_t kTaskTokens = 256;

struct Document {
  int64_t begin, end;
};

std::vector<Document> documents_of(const Call& call, int64_t num_tokens) {
  if (!call.has_in(kCuSeqlens) || call.has_in(kPast)) return {{0, num_tokens}};
  const Tensor dense = call.in(kCuSeqlens).retain().contiguous();
  const auto* bounds = dense.data<const int32_t>();
  std::vector<Document> documents;
  int64_t end = 0;
  for (int64_t i = 0; i + 1 < dense.numel(); ++i) {
    TITAN_CHECK(bounds[i] == end && bounds[i + 1] >= end,
                "[titan.causal_conv1d/1] cu_seqlens: expected ascending "
                "numbers from 0 on, got ",
                bounds[i],
                " and ",
                bounds[i + 1]);
    documents.push_back({end, bounds[i + 1]});
    end = bounds[i + 1];
  }
  TITAN_CHECK(end == num_tokens,
              "[titan.causal_conv1d/1] cu_seqlens: expected to end at ",
              num_tokens,
              ", got ",
              end);
  return documents;
}

template <typename Element>
class Convolution {
 public:
  explicit Convolution(const Call& call)
      : x_(call.in(kX)),
        past_(call.has_in(kPast) ? call.in(kPast) : TensorView()),
        documents_(documents_of(call, x_.count())),
        taps_(call.in(kWeight).size(2)),
        weight_(transposed_weight(call)),
        bias_(floats_of(call.has_in(kBias) ? call.in(kBias) : TensorView())),
        is_silu_(call.attributes().get("activation",
                                       std::string_view("none")) == "silu") {
    bias_.resize(static_cast<size_t>(channels()), 0.0f);
  }

  int64_t channels() const { return x_.columns(); }
  int64_t taps() const { return taps_; }
  bool is_silu() const { return is_silu_; }
  const std::vector<Document>& documents() const { return documents_; }
  const float* weight(int64_t back) const {
    return weight_.data() + back * channels();
  }

  /// Taps that a token has: no token before its document, or before the past.
  int64_t reach(const Document& document, int64_t token) const {
    return std::min(taps_, token - document.begin + 1 + past_.count());
  }
  const Element* row(int64_t token) const {
    return token >= 0 ? x_.row(token) : past_.row(past_.count() + token);
  }
  /// Sum over the taps of the channels at `channel` + place.
  template <typename Place>
  Vec sum(int64_t token, int64_t reach, int64_t channel, Place place) const {
    Vec sum = load(bias_.data() + channel, place);
    for (int64_t back = 0; back < reach; ++back)
      sum = hn::MulAdd(load(row(token - back) + channel, place),
                       load(weight(back) + channel, place),
                       sum);
    return sum;
  }

 private:
  /// [W, C], the token's own tap first.
  static Scratch transposed_weight(const Call& call) {
    const Scratch given = floats_of(call.in(kWeight));
    const int64_t taps = call.in(kWeight).size(2);
    const int64_t channels = call.in(kWeight).size(0);
    Scratch out(given.size());
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t back = 0; back < taps; ++back)
        out[static_cast<size_t>(back * channels + c)] =
            given[static_cast<size_t>(c * taps + taps - 1 - back)];
    return out;
  }

  TensorRows<const Element> x_, past_;
  std::vector<Document> documents_;
  int64_t taps_;
  Scratch weight_, bias_;
  bool is_silu_;
};

template <typename Element>
void convolve(const Call& call) {
  const Convolution<Element> c(call);
  const TensorRows<Element> ys(call.out(0));
  struct Task {
    Document document;
    int64_t begin, end, channel;
  };
  std::vector<Task> tasks;
  for (const Document& document : c.documents())
    for (int64_t t = document.begin; t < document.end; t += kTaskTokens)
      for (int64_t channel = 0; channel < c.channels(); channel += kBand)
        tasks.push_back(
            {document, t, std::min(document.end, t + kTaskTokens), channel});
  const auto run = [&](const Task& task) {
    const int64_t width = std::min(kBand, c.channels() - task.channel);
    for (int64_t t = task.begin; t < task.end; ++t) {
      const int64_t reach = c.reach(task.document, t);
      Element* y = ys.row(t) + task.channel;
      each_vector(width, [&](auto place) {
        const Vec sum = c.sum(t, reach, task.channel, place);
        store(c.is_silu() ? activation::Silu::value(sum) : sum, y, place);
      });
    }
  };
  parallel_for(
      0, static_cast<int64_t>(tasks.size()), 1, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) run(tasks[static_cast<size_t>(i)]);
      });
}

/// Gradients of one band of channels.
template <typename Element>
class Band {
 public:
  Band(const Convolution<Element>& convolution,
       const TensorRows<const Element>& grads,
       const TensorRows<Element>& grad_xs,
       int64_t channel)
      : c_(convolution),
        grads_(grads),
        grad_xs_(grad_xs),
        channel_(channel),
        width_(std::min(kBand, c_.channels() - channel)),
        recent_(static_cast<size_t>(c_.taps() * kBand)),
        partial_(static_cast<size_t>((c_.taps() + 1) * kBand), 0.0f),
        total_(partial_) {}

  void add(const Document& document) {
    const int64_t last = c_.taps() - 1;
    for (int64_t t = document.begin; t < document.end + last; ++t) {
      if (t < document.end) add_token(document, t);
      const int64_t ready = t - last;
      if (grad_xs_.defined() && ready >= document.begin)
        write_grad_x(ready, std::min(c_.taps(), document.end - ready));
    }
  }

  /// Sum over the tokens: of the tap `back`, or of the bias with back = W.
  float total(int64_t back, int64_t channel) {
    flush();
    return total_[static_cast<size_t>(back * kBand + channel)];
  }
  int64_t width() const { return width_; }

 private:
  float* recent(int64_t token) {
    return recent_.data() + token % c_.taps() * kBand;
  }

  void add_token(const Document& document, int64_t t) {
    if (++num_partial_ > kTaskTokens) flush();
    const int64_t reach = c_.reach(document, t);
    const Element* grad = grads_.row(t) + channel_;
    float* to = recent(t);
    each_vector(width_, [&](auto place) {
      Vec g = load(grad, place);
      if (c_.is_silu())
        g = hn::Mul(
            g, activation::Silu::both(c_.sum(t, reach, channel_, place)).slope);
      store(g, to, place);
      for (int64_t back = 0; back < reach; ++back) {
        float* sums = partial_.data() + back * kBand;
        const Vec x = load(c_.row(t - back) + channel_, place);
        store(hn::MulAdd(g, x, load(sums, place)), sums, place);
      }
      float* bias_sums = partial_.data() + c_.taps() * kBand;
      store(hn::Add(load(bias_sums, place), g), bias_sums, place);
    });
  }

  /// dx[t] = sum over the `count` tokens from t on that t is a tap of.
  void write_grad_x(int64_t t, int64_t count) {
    Element* out = grad_xs_.row(t) + channel_;
    each_vector(width_, [&](auto place) {
      Vec sum = hn::Zero(kFloats);
      for (int64_t back = 0; back < count; ++back)
        sum = hn::MulAdd(load(recent(t + back), place),
                         load(c_.weight(back) + channel_, place),
                         sum);
      store(sum, out, place);
    });
  }

  void flush() {
    if (num_partial_ == 0) return;
    for (size_t i = 0; i < total_.size(); ++i) total_[i] += partial_[i];
    std::fill(partial_.begin(), partial_.end(), 0.0f);
    num_partial_ = 0;
  }

  const Convolution<Element>& c_;
  const TensorRows<const Element>& grads_;
  const TensorRows<Element>& grad_xs_;
  const int64_t channel_, width_;
  Scratch recent_;   // [W, kBand]: gradients of the last W sums, a ring
  Scratch partial_;  // [W + 1, kBand]
  Scratch total_;
  int64_t num_partial_ = 0;
};

void write_element(TensorView to, int64_t at, float value) {
  if (to.dtype() == Dtype::kBF16) {
    from_float(value, to.data<BFloat16>()[at]);
  } else {
    to.data<float>()[at] = value;
  }
}

template <typename Element>
void differentiate(const Call& call) {
  const Convolution<Element> c(call);
  const TensorRows<const Element> grads(only_grad(call));
  const TensorRows<Element> grad_xs(call.wants(kX) ? call.out(kX)
                                                   : TensorView());
  const int64_t taps = c.taps();
  const auto run = [&](int64_t first) {
    Band<Element> band(c, grads, grad_xs, first);
    for (const Document& document : c.documents()) band.add(document);
    for (int64_t i = 0; i < band.width(); ++i) {
      for (int64_t back = 0; call.wants(kWeight) && back < taps; ++back)
        write_element(call.out(kWeight),
                      (first + i) * taps + taps - 1 - back,
                      band.total(back, i));
      if (call.wants(kBias))
        write_element(call.out(kBias), first + i, band.total(taps, i));
    }
  };
  parallel_for(
      0, (c.channels() + kBand - 1) / kBand, 1, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) run(i * kBand);
      });
}

}  // namespace

int CausalConv1dCpu::score(const Shapes& shapes) const {
  return is_parameter(shapes, kWeight) && is_parameter(shapes, kBias)
             ? 500
             : shapes.refuse("a weight or bias neither fp32 nor bf16");
}

void CausalConv1dCpu::forward(const Call& call) const {
  if (call.in(kX).dtype() == Dtype::kBF16) {
    convolve<BFloat16>(call);
  } else {
    convolve<float>(call);
  }
}

void CausalConv1dCpu::backward(const Call& call) const {
  if (call.in(kX).dtype() == Dtype::kBF16) {
    differentiate<BFloat16>(call);
  } else {
    differentiate<float>(call);
  }
}

}  // namespace titan::kernels

// SPDX-License-Identifier: BSD-3-Clause
// Legend: T tokens, N heads, H head dim, R rotary dims.
#include "plugins/kernels/rope/rope_cpu.h"

#include "plugins/kernels/rope/table.h"
#include "plugins/kernels/simd/lanes.h"
#include "plugins/kernels/simd/tensor_rows.h"

namespace titan::kernels {
namespace {

using rope::Pairs;
using rope::Table;

enum Input { kX, kPositions };

template <typename Element>
struct Rotation {
  const Element* x;
  int64_t token_stride, head_stride;  // of x
  Element* y;                         // dense [T, N, H]
  int64_t num_heads, head_dim;
  const Table* table;
  const int64_t* positions;
  float direction;  // 1 forward, -1 backward

  const Element* head_of_x(int64_t token, int64_t head) const {
    return x + token * token_stride + head * head_stride;
  }
  Element* head_of_y(int64_t token, int64_t head) const {
    return y + (token * num_heads + head) * head_dim;
  }

  void copy_rest(const Element* in, Element* out) const {
    const int64_t turned = 2 * table->half;
    std::memcpy(out + turned,
                in + turned,
                static_cast<size_t>(head_dim - turned) * sizeof(Element));
  }

  /// One vector of pairs at a time over all heads: its angles stay in
  /// registers.
  void turn_halves(int64_t token) const {
    const int64_t half = table->half;
    const float* cosines = table->cos.data() + positions[token] * half;
    const float* sines = table->sin.data() + positions[token] * half;
    const Vec sign = broadcast(direction);
    each_vector(half, [&](auto place) {
      const Vec c = load(cosines, place);
      const Vec s = hn::Mul(load(sines, place), sign);
      for (int64_t n = 0; n < num_heads; ++n) {
        const Element* in = head_of_x(token, n);
        Element* out = head_of_y(token, n);
        const Vec a = load(in, place);
        const Vec b = load(in + half, place);
        store(hn::NegMulAdd(b, s, hn::Mul(a, c)), out, place);
        store(hn::MulAdd(a, s, hn::Mul(b, c)), out + half, place);
      }
    });
  }

  /// Angles of a token, each twice, the first sine of a pair negative: then
  /// y = x cos + (x with neighbours exchanged) sin. `angles` has room for 2R.
  void spread_angles(int64_t token, float* angles) const {
    const int64_t half = table->half;
    for (int64_t j = 0; j < half; ++j) {
      const int64_t at = positions[token] * half + j;
      const float sine = table->sin[static_cast<size_t>(at)] * direction;
      angles[2 * j] = angles[2 * j + 1] = table->cos[static_cast<size_t>(at)];
      angles[2 * half + 2 * j] = -sine;
      angles[2 * half + 2 * j + 1] = sine;
    }
  }

  void turn_adjacent(int64_t token, float* angles) const {
    const int64_t rotary_dim = 2 * table->half;
    spread_angles(token, angles);
    each_vector(rotary_dim, [&](auto place) {
      const Vec c = load(angles, place);
      const Vec s = load(angles + rotary_dim, place);
      for (int64_t n = 0; n < num_heads; ++n) {
        const Vec value = load(head_of_x(token, n), place);
        const Vec exchanged = hn::Reverse2(kFloats, value);
        store(hn::MulAdd(exchanged, s, hn::Mul(value, c)),
              head_of_y(token, n),
              place);
      }
    });
  }
};

template <typename Element, Pairs kPairs>
void turn(const Call& call, TensorView given, TensorView y, float direction) {
  if (given.numel() == 0) return;
  Tensor x = given.retain();
  if (x.strides()[2] != 1) x = x.contiguous();
  const int64_t rotary_dim = call.attributes().get("rotary_dim", int64_t{0});
  const auto positions = rope::positions_of(call.in(kPositions));
  const auto table = rope::table_for(
      call.attributes(), rotary_dim == 0 ? x.size(2) : rotary_dim, positions);
  const Rotation<Element> rotation{x.data<const Element>(),
                                   x.strides()[0],
                                   x.strides()[1],
                                   y.data<Element>(),
                                   x.size(1),
                                   x.size(2),
                                   table.get(),
                                   positions.data(),
                                   direction};
  const bool has_rest = 2 * table->half < rotation.head_dim;
  for_rows(x.size(0), x.size(1) * x.size(2), [&](int64_t t, int64_t end) {
    Scratch angles(
        static_cast<size_t>(kPairs == Pairs::kAdjacent ? 4 * table->half : 0));
    for (; t < end; ++t) {
      if constexpr (kPairs == Pairs::kAdjacent) {
        rotation.turn_adjacent(t, angles.data());
      } else {
        rotation.turn_halves(t);
      }
      for (int64_t n = 0; has_rest && n < rotation.num_heads; ++n)
        rotation.copy_rest(rotation.head_of_x(t, n), rotation.head_of_y(t, n));
    }
  });
}

template <Pairs kPairs>
void turn_any(const Call& call, TensorView x, TensorView y, float direction) {
  if (x.dtype() == Dtype::kBF16) {
    turn<BFloat16, kPairs>(call, x, y, direction);
  } else {
    turn<float, kPairs>(call, x, y, direction);
  }
}

}  // namespace

template <Pairs kPairs>
void RopeCpu<kPairs>::forward(const Call& call) const {
  turn_any<kPairs>(call, call.in(kX), call.out(0), 1.0f);
}

template <Pairs kPairs>
void RopeCpu<kPairs>::backward(const Call& call) const {
  if (!call.wants(kX)) return;
  turn_any<kPairs>(call, only_grad(call), call.out(kX), -1.0f);
}

template class RopeCpu<Pairs::kAdjacent>;
template class RopeCpu<Pairs::kHalves>;

}  // namespace titan::kernels

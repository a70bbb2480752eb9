// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/initialise.h"

#include <algorithm>
#include <cmath>

#include <titan/error.h>

#include "core/module/philox.h"

namespace titan::module {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

class Draws {
 public:
  Draws(uint64_t seed, uint64_t name)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        name_(name) {}

  // The counter is (element, attempt | high element bits, name): 2^40 elements
  // and 2^24 attempts never collide.
  std::array<uint32_t, 4> block(uint64_t element, uint32_t attempt) const {
    const auto high = static_cast<uint32_t>(element >> 32);
    return philox4x32({static_cast<uint32_t>(element),
                       high | attempt << 8,
                       static_cast<uint32_t>(name_),
                       static_cast<uint32_t>(name_ >> 32)},
                      key_);
  }

  double uniform(uint64_t element, uint32_t attempt = 0) const {
    const auto bits = block(element, attempt);
    return uniform_open(bits[0], bits[1]);
  }

  double normal(uint64_t element, uint32_t attempt = 0) const {
    const auto bits = block(element, attempt);
    const double radius =
        std::sqrt(-2.0 * std::log(uniform_open(bits[0], bits[1])));
    return radius * std::cos(kTwoPi * uniform_open(bits[2], bits[3]));
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t name_;
};

double truncated(const Init& init, const Draws& draws, uint64_t element) {
  for (uint32_t attempt = 0; attempt < 1000; ++attempt) {
    const double value = init.mean + init.std * draws.normal(element, attempt);
    if (value >= init.low && value <= init.high) return value;
  }
  // Bounds so far out that 1000 draws missed: the nearest bound is the limit.
  return std::clamp(init.mean, init.low, init.high);
}

double value_of(const Init& init, const Draws& draws, uint64_t element) {
  switch (init.kind) {
    case InitKind::kZeros:
      return 0.0;
    case InitKind::kConstant:
      return init.mean;
    case InitKind::kNormal:
      return init.mean + init.std * draws.normal(element);
    case InitKind::kTruncNormal:
      return truncated(init, draws, element);
    case InitKind::kUniform:
      return init.low + (init.high - init.low) * draws.uniform(element);
    case InitKind::kLogUniform:
      return std::log(init.low +
                      (init.high - init.low) * draws.uniform(element));
  }
  throw UserError(text("[model] init kind: expected 0 to 5, got ",
                       static_cast<int>(init.kind)));
}

}  // namespace

void initial_values(const Parameter& parameter,
                    uint64_t seed,
                    int64_t first,
                    std::span<double> out) {
  const Draws draws(seed, hash_name(parameter.fqn));
  const auto count = static_cast<int64_t>(out.size());
  // A 1B model draws 1.2e9 numbers: worth the host's threads.
#pragma omp parallel for if (count > 16384)
  for (int64_t i = 0; i < count; ++i)
    out[static_cast<size_t>(i)] =
        value_of(parameter.init, draws, static_cast<uint64_t>(first + i));
}

}  // namespace titan::module

// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/initialise.h"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

using titan::module::Init;
using titan::module::initial_values;
using titan::module::InitKind;
using titan::module::Parameter;

namespace {

Parameter parameter(const char* fqn, Init init) {
  Parameter made;
  made.fqn = fqn;
  made.shape = {200, 500};
  made.init = init;
  return made;
}

std::vector<double> draw(const Parameter& of, uint64_t seed) {
  std::vector<double> values(static_cast<size_t>(of.num_elements()));
  initial_values(of, seed, 0, values);
  return values;
}

struct Moments {
  double mean = 0, std = 0, low = 1e300, high = -1e300;
};

Moments moments(const std::vector<double>& values) {
  Moments m;
  for (double v : values) {
    m.mean += v / static_cast<double>(values.size());
    m.low = std::fmin(m.low, v);
    m.high = std::fmax(m.high, v);
  }
  for (double v : values)
    m.std += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  m.std = std::sqrt(m.std);
  return m;
}

}  // namespace

TEST_CASE("a part of a parameter has the values of the whole", "[unit]") {
  const Parameter w =
      parameter("layers.0.w", {InitKind::kTruncNormal, 0, 0.02, -2, 2});
  const std::vector<double> whole = draw(w, 7);
  std::vector<double> part(1234);
  initial_values(w, 7, 4321, part);
  for (size_t i = 0; i < part.size(); ++i) REQUIRE(part[i] == whole[4321 + i]);
}

TEST_CASE("seed and name decide the values", "[unit]") {
  const Init init{InitKind::kNormal, 0, 1, 0, 0};
  const auto first = draw(parameter("a.w", init), 1);
  CHECK(first == draw(parameter("a.w", init), 1));
  CHECK(first != draw(parameter("a.w", init), 2));
  CHECK(first != draw(parameter("b.w", init), 1));
}

// 100,000 draws: the mean of a unit normal lies within 5/sqrt(1e5) = 0.016,
// its deviation within 5/sqrt(2e5) = 0.011 (five sigma; the seed is fixed).
TEST_CASE("each rule has its mean, deviation and bounds", "[unit]") {
  const Moments normal =
      moments(draw(parameter("n", {InitKind::kNormal, 3, 2, 0, 0}), 5));
  CHECK(normal.mean == Approx(3).margin(0.032));
  CHECK(normal.std == Approx(2).margin(0.022));

  const Moments cut =
      moments(draw(parameter("t", {InitKind::kTruncNormal, 0, 1, -1, 1}), 5));
  CHECK(cut.low >= -1);
  CHECK(cut.high <= 1);
  // Deviation of a unit normal cut at one sigma: 0.53956 (closed form).
  CHECK(cut.std == Approx(0.53956).margin(0.011));

  const Moments uniform =
      moments(draw(parameter("u", {InitKind::kUniform, 0, 0, 2, 4}), 5));
  CHECK(uniform.low >= 2);
  CHECK(uniform.high < 4);
  CHECK(uniform.mean == Approx(3).margin(0.02));

  const Moments log_uniform =
      moments(draw(parameter("l", {InitKind::kLogUniform, 0, 0, 1, 16}), 5));
  CHECK(log_uniform.low >= 0);
  CHECK(log_uniform.high < std::log(16.0));
}

TEST_CASE("a cut that no draw meets ends at the nearest bound", "[unit]") {
  Parameter far = parameter("f", {InitKind::kTruncNormal, 0, 1, 50, 60});
  far.shape = {3};
  CHECK(draw(far, 1) == std::vector<double>{50, 50, 50});
}

// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstring>
#include <random>

#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/loaded_plugin.h"

namespace {

// Ten updates in fp32 against the same formula in fp64, relative to the weight
// (at least 1). Measured maximum over 9001 weights: 5.9e-7, ten fp32 roundings.
constexpr double kTolerance = 1e-6;

const symbolic::LoadedPlugin& optimizer_plugin() {
  static const symbolic::LoadedPlugin loaded("plugins/libtitan_adamw.so");
  return loaded;
}

template <typename Element>
titan_tensor make(const std::vector<Element>& values, int32_t dtype) {
  titan_tensor out =
      symbolic::make("numbers", {static_cast<int64_t>(values.size())});
  auto& data = symbolic::data_of(out);
  data.dtype = dtype;
  data.bytes.resize(values.size() * sizeof(Element));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return out;
}

template <typename Element>
Element at(titan_tensor tensor, std::size_t i) {
  Element out;
  std::memcpy(&out,
              symbolic::data_of(tensor).bytes.data() + i * sizeof(out),
              sizeof(out));
  return out;
}

// torch.optim.AdamW, single-tensor path, in fp64.
struct Reference {
  std::vector<double> p, m, v;

  void step(const std::vector<double>& grad, double lr, double t) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] *= 1 - lr * 0.1;
      m[i] += (grad[i] - m[i]) * (1 - 0.9);
      v[i] = v[i] * 0.95 + grad[i] * grad[i] * (1 - 0.95);
      const double denominator =
          std::sqrt(v[i]) / std::sqrt(1 - std::pow(0.95, t)) + 1e-8;
      p[i] -= lr / (1 - std::pow(0.9, t)) * m[i] / denominator;
    }
  }
};

struct Optimizer {
  explicit Optimizer(const std::string& json) {
    const auto config = optimizer_plugin().config(json);
    titan::detail::HostError error;
    titan::detail::check(
        table().create(&symbolic::host_api(), config.as_abi(), &object, error),
        error);
  }
  ~Optimizer() { table().destroy(object); }
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  static const titan_optimizer_table& table() {
    return optimizer_plugin().table<titan_optimizer_table>();
  }
  void step(titan_tensor param,
            titan_tensor grad,
            const titan_tensor (&states)[2],
            double lr,
            double count,
            double scale) {
    titan_tensor scalars[] = {make<double>({lr / 2}, TITAN_DTYPE_F64),
                              make<double>({count}, TITAN_DTYPE_F64),
                              make<double>({scale}, TITAN_DTYPE_F64)};
    titan_optimizer_call call{};
    call.struct_size = sizeof(call);
    call.num_params = 1;
    call.num_states = 2;
    call.params = &param;
    call.grads = &grad;
    call.states = states;
    call.lr = scalars[0];
    call.step = scalars[1];
    call.grad_scale = scalars[2];
    call.lr_multiplier = 2;
    call.weight_decay = std::nan("");
    titan::detail::HostError error;
    const int32_t code = table().step(object, &call, error);
    for (titan_tensor scalar : scalars)
      symbolic::host_api().tensor->release(scalar);
    titan::detail::check(code, error);
  }
  titan_object* object = nullptr;
};

void release(std::initializer_list<titan_tensor> tensors) {
  for (titan_tensor tensor : tensors)
    symbolic::host_api().tensor->release(tensor);
}

}  // namespace

TEST_CASE("AdamW in fp32 follows torch.optim.AdamW's formula for ten steps",
          "[unit]") {
  constexpr std::size_t kSize = 9001;  // several pieces, odd tail
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> start(kSize);
  for (float& value : start) value = normal(random);
  Optimizer optimizer(R"({"weight_decay":0.1})");
  const std::vector<float> zeros(kSize);
  titan_tensor param = make(start, TITAN_DTYPE_F32);
  const titan_tensor states[] = {make(zeros, TITAN_DTYPE_F32),
                                 make(zeros, TITAN_DTYPE_F32)};
  Reference reference{{start.begin(), start.end()},
                      std::vector<double>(kSize),
                      std::vector<double>(kSize)};
  for (int t = 1; t <= 10; ++t) {
    std::vector<float> grad(kSize);
    for (float& value : grad) value = normal(random);
    titan_tensor gradient = make(grad, TITAN_DTYPE_F32);
    optimizer.step(param, gradient, states, 1e-2, t, 0.5);
    release({gradient});
    std::vector<double> scaled(grad.begin(), grad.end());
    for (double& value : scaled) value *= 0.5;
    reference.step(scaled, 1e-2, t);
  }
  double worst = 0;
  for (std::size_t i = 0; i < kSize; ++i)
    worst = std::max(worst,
                     std::abs(at<float>(param, i) - reference.p[i]) /
                         std::max(1.0, std::abs(reference.p[i])));
  INFO("largest error " << worst << " of " << kTolerance);
  CHECK(worst < kTolerance);
  release({param, states[0], states[1]});
}

TEST_CASE("AdamW in fp64 equals its formula to the last digits", "[unit]") {
  Optimizer optimizer(R"({"weight_decay":0.1})");
  titan_tensor param = make<double>({1.5, -2, 3e-3}, TITAN_DTYPE_F64);
  titan_tensor grad = make<double>({0.25, -1e-4, 7}, TITAN_DTYPE_F64);
  const titan_tensor states[] = {make<double>({0, 0, 0}, TITAN_DTYPE_F64),
                                 make<double>({0, 0, 0}, TITAN_DTYPE_F64)};
  Reference reference{{1.5, -2, 3e-3}, {0, 0, 0}, {0, 0, 0}};
  for (int t = 1; t <= 3; ++t) {
    optimizer.step(param, grad, states, 1e-2, t, 1);
    reference.step({0.25, -1e-4, 7}, 1e-2, t);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(at<double>(param, i) == Approx(reference.p[i]).epsilon(1e-14));
    CHECK(at<double>(states[1], i) == Approx(reference.v[i]).epsilon(1e-14));
  }
  release({param, grad, states[0], states[1]});
}

TEST_CASE("AdamW keeps bf16 moments rounded to nearest even", "[unit]") {
  Optimizer optimizer(R"({"state_dtype":"bf16","betas":[0.5,0.5]})");
  titan_tensor param = make<float>({1}, TITAN_DTYPE_F32);
  // m = g / 2 = 1 + 2^-8: a tie, which goes down to the even 0x3f80.
  titan_tensor grad = make<float>({2.0078125f}, TITAN_DTYPE_F32);
  const titan_tensor states[] = {make<uint16_t>({0}, TITAN_DTYPE_BF16),
                                 make<uint16_t>({0}, TITAN_DTYPE_BF16)};
  optimizer.step(param, grad, states, 1e-2, 1, 1);
  CHECK(at<uint16_t>(states[0], 0) == 0x3f80);
  // v = g^2 / 2 = 2.01566; bf16 steps there are 2^-6.
  CHECK(at<uint16_t>(states[1], 0) == 0x4001);
  release({param, grad, states[0], states[1]});
}

TEST_CASE("AdamW asks for two moments of the wanted type", "[unit]") {
  const auto dtypes_of = [](const char* json) {
    Optimizer optimizer(json);
    std::vector<int32_t> out;
    const titan_state_sink sink{
        sizeof(titan_state_sink),
        0,
        &out,
        [](void* self, const titan_tensor_spec* spec) {
          CHECK(spec->flags == TITAN_STATE_LIKE_PARAMETER);
          static_cast<std::vector<int32_t>*>(self)->push_back(spec->dtype);
        }};
    titan_tensor_spec parameter{};
    parameter.dtype = TITAN_DTYPE_F64;
    titan::detail::HostError error;
    titan::detail::check(optimizer.table().describe_state(
                             optimizer.object, &parameter, &sink, error),
                         error);
    return out;
  };
  CHECK(dtypes_of("{}") ==
        std::vector<int32_t>{TITAN_DTYPE_F64, TITAN_DTYPE_F64});
  CHECK(dtypes_of(R"({"state_dtype":"bf16"})") ==
        std::vector<int32_t>{TITAN_DTYPE_BF16, TITAN_DTYPE_BF16});
}

TEST_CASE("AdamW refuses a decay outside [0, 1)", "[unit]") {
  CHECK_THROWS_WITH(Optimizer(R"({"betas":[0.9,1.0]})"),
                    "[optimizer.betas] must lie in [0, 1): expected a decay, "
                    "got 1");
}

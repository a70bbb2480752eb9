// SPDX-License-Identifier: BSD-3-Clause
// Times kernels of the plugins beside references, on one thread. Reads lines
// "CASE DTYPE" (rms_norm f32), prints for each the milliseconds of forward and
// of backward with the kernel, then with the reference: medians of samples that
// alternate. "copy" prints the bandwidth of a copy in GB/s. kernels_cpu.py asks
// it and PyTorch in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "core/op/catalogue.h"
#include "core/op/cpu_allocator.h"
#include "core/op/reference/reference.h"
#include "core/train/session.h"

namespace {

using titan::op::Attributes;
using titan::op::ForwardResult;
using titan::op::Kernel;
using titan::op::reference::random_normal;
using Tensors = std::vector<at::Tensor>;
using Body = std::function<void()>;

constexpr int64_t kTokens = 2048;
constexpr int kSamples = 9;

struct Case {
  const char* op;
  Attributes attributes;
  std::vector<std::vector<int64_t>> sizes;  // of the inputs; {} = absent
};

std::map<std::string, Case> make_cases() {
  const std::vector<int64_t> hidden{kTokens, 1024}, heads{kTokens, 16, 128},
      wide{kTokens, 3072};
  return {{"rms_norm", {"titan.rms_norm/1", {}, {hidden, {1024}}}},
          {"rms_norm_heads", {"titan.rms_norm/1", {}, {heads, {128}}}},
          {"layer_norm", {"titan.layer_norm/1", {}, {hidden, {1024}, {1024}}}},
          {"swiglu", {"titan.swiglu/1", {}, {wide, wide}}},
          {"gelu", {"titan.activation/1", {}, {wide, {}}}},
          {"gelu_tanh",
           {"titan.activation/1",
            {{"function", std::string("gelu_tanh")}},
            {wide, {}}}},
          {"causal_conv1d",
           {"titan.causal_conv1d/1",
            {{"activation", std::string("silu")}},
            {wide, {}, {}, {3072, 1, 4}, {}}}},
          {"rope_complex", {"titan.rope_complex/1", {}, {heads, {}}}},
          {"rope_cos_sin", {"titan.rope_cos_sin/1", {}, {heads, {}}}}};
}

Tensors inputs_of(const Case& tested, at::ScalarType dtype) {
  Tensors inputs;
  for (const auto& sizes : tested.sizes)
    inputs.push_back(sizes.empty()
                         ? at::Tensor()
                         : random_normal(sizes, dtype, inputs.size()));
  if (std::string_view(tested.op).find("rope") != std::string_view::npos)
    inputs[1] = at::arange(kTokens, at::kLong);
  return inputs;
}

double milliseconds_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

/// Medians of bodies that take turns.
std::vector<double> medians(const std::vector<Body>& bodies) {
  std::vector<std::vector<double>> samples(bodies.size());
  for (int i = 0; i < kSamples + 2; ++i)
    for (size_t b = 0; b < bodies.size(); ++b) {
      const double sample = milliseconds_of(bodies[b]);
      if (i >= 2) samples[b].push_back(sample);
    }
  std::vector<double> out;
  for (auto& each : samples) {
    std::sort(each.begin(), each.end());
    out.push_back(each[each.size() / 2]);
  }
  return out;
}

/// forward, backward
std::vector<Body> bodies_of(const std::shared_ptr<const Kernel>& kernel,
                            const Attributes& attributes,
                            const Tensors& inputs) {
  uint64_t want = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].is_floating_point())
      want |= uint64_t{1} << i;
  const ForwardResult first = kernel->forward({attributes, inputs, want, 0});
  const Tensors grads{
      random_normal(first.outputs[0].sizes(), inputs[0].scalar_type(), 99)};
  return {[=, &attributes] {
            kernel->forward({attributes, inputs, want, 0});
          },
          [=, &attributes] {
            kernel->backward({attributes, inputs, first.saved, grads, want, 0});
          }};
}

void measure(const titan::train::PluginHost& host,
             const Case& tested,
             at::ScalarType dtype) {
  const auto& spec = titan::op::find_op(tested.op);
  const auto kernels = host.kernels->kernels_of(tested.op);
  if (kernels.empty()) {
    std::printf("no kernel\n");
    return;
  }
  const Attributes attributes =
      titan::op::bind_attributes(spec, tested.attributes, "[bench]");
  const Tensors inputs = inputs_of(tested, dtype);
  std::vector<Body> bodies = bodies_of(kernels[0], attributes, inputs);
  for (auto& body :
       bodies_of(titan::op::reference_kernel(spec), attributes, inputs))
    bodies.push_back(std::move(body));
  for (const double median : medians(bodies)) std::printf("%.4f ", median);
  std::printf("\n");
}

void measure_copy() {
  const at::Tensor from = at::ones({64 << 20}, at::kFloat);
  at::Tensor to = at::zeros_like(from);
  const double milliseconds = medians({[&] { to.copy_(from); }})[0];
  std::printf("%.2f\n",
              2e-6 * static_cast<double>(from.nbytes()) / milliseconds);
}

}  // namespace

int main() {
  at::set_num_threads(1);
  titan::op::install_cpu_allocator();
  const c10::InferenceMode no_graph;
  titan::plugin::SearchOptions search;
  search.use_environment = false;
  search.executable = TITAN_BINARY_DIR "/bin/titan";
  search.files = {TITAN_BINARY_DIR
                  "/optional_plugins/libtitan_kernels_cpu_avx512_rows.so"};
  const titan::train::PluginHost host(search);
  const auto cases = make_cases();
  std::string name, dtype;
  while (std::cin >> name >> dtype) {
    if (name == "copy") {
      measure_copy();
    } else {
      measure(
          host, cases.at(name), dtype == "f32" ? at::kFloat : at::kBFloat16);
    }
    std::fflush(stdout);
  }
  return 0;
}

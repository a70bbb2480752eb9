// SPDX-License-Identifier: BSD-3-Clause
// What a call through the op table costs, and how the references do against the
// PyTorch-style code that they stand for. Prints Markdown; sides alternate, the
// median of the samples is shown.
//   bench_op_overhead [threads]
// Shapes: llama3 debug model, T tokens = 2048, dim 256, 16 heads of 16, ffn
// 768, vocabulary 2048.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace {

using titan::op::Attributes;
using titan::op::find_op;
using titan::op::invoke_one;
using titan::op::Slot;
using titan::op::reference::random_ids;
using titan::op::reference::random_normal;
using Body = std::function<void()>;

double seconds_of(const Body& body, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) body();
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count() / repeats;
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

void compare(const char* what,
             const Body& titan,
             const Body& aten,
             int repeats,
             double unit,
             const char* unit_name) {
  constexpr int kSamples = 15;
  std::vector<double> ours, theirs;
  titan();
  aten();
  for (int i = 0; i < kSamples; ++i) {
    ours.push_back(seconds_of(titan, repeats));
    theirs.push_back(seconds_of(aten, repeats));
  }
  std::printf("| %s | %.2f %s | %.2f %s | %.2f |\n",
              what,
              median(ours) / unit,
              unit_name,
              median(theirs) / unit,
              unit_name,
              median(theirs) / median(ours));
  std::fflush(stdout);
}

void print_head(const char* title) {
  std::printf(
      "\n%s\n\n| op | Titan | ATen | ATen / Titan |\n|---|---|---|---|\n",
      title);
}

at::Tensor leaf(at::IntArrayRef sizes, at::ScalarType dtype, uint64_t seed) {
  return random_normal(sizes, dtype, seed).requires_grad_(true);
}

void bench_overhead() {
  print_head("Overhead: [1, 8] tensors");
  const at::Tensor x = random_normal({1, 8}, at::kFloat, 1);
  const at::Tensor weight = random_normal({8, 8}, at::kFloat, 2);
  Slot swiglu(find_op("titan.swiglu/1"), "swiglu", "", {});
  Slot linear(find_op("titan.linear/1"), "linear", "", {});
  const auto compare_tiny = [](const char* what, const Body& a, const Body& b) {
    compare(what, a, b, 3000, 1e-6, "us");
  };
  {
    const c10::NoGradGuard no_grad;
    compare_tiny(
        "swiglu, no grad",
        [&] {
          invoke_one(swiglu, {x, x});
        },
        [&] { at::silu(x).mul_(x); });
    compare_tiny(
        "linear, no grad",
        [&] {
          invoke_one(linear, {x, weight});
        },
        [&] { at::linear(x, weight); });
  }
  const at::Tensor leaf_x = leaf({1, 8}, at::kFloat, 1);
  const at::Tensor leaf_weight = leaf({8, 8}, at::kFloat, 2);
  compare_tiny(
      "swiglu, recording",
      [&] {
        invoke_one(swiglu, {leaf_x, leaf_x});
      },
      [&] { at::silu(leaf_x) * leaf_x; });
  compare_tiny(
      "linear, recording",
      [&] {
        invoke_one(linear, {leaf_x, leaf_weight});
      },
      [&] { at::linear(leaf_x, leaf_weight); });
}

using Forward = std::function<at::Tensor()>;

void compare_training(const char* what,
                      const std::vector<at::Tensor>& leaves,
                      const Forward& titan,
                      const Forward& aten) {
  const at::Tensor grad = at::ones_like(titan()).detach();
  const auto step = [&](const Forward& forward) {
    return [&] {
      const at::Tensor out = forward();
      out.backward(out.dim() == 0 ? at::Tensor() : grad);
      for (at::Tensor each : leaves) each.mutable_grad() = at::Tensor();
    };
  };
  compare(what, step(titan), step(aten), 1, 1e-3, "ms");
}

at::Tensor eager_rms_norm(const at::Tensor& x, const at::Tensor& weight) {
  return at::rms_norm(x, {x.size(-1)}, weight, 1e-5);
}

at::Tensor eager_rope(const at::Tensor& x_TNH, const at::Tensor& angles_TR) {
  const at::Tensor pairs =
      at::view_as_complex(x_TNH.to(at::kFloat).unflatten(-1, {-1, 2}));
  return at::view_as_real(pairs * angles_TR.unsqueeze(1))
      .flatten(2)
      .to(x_TNH.scalar_type());
}

at::Tensor eager_attention(const at::Tensor& q_TNH, int64_t documents) {
  const at::Tensor q = q_TNH.unflatten(0, {documents, -1}).transpose(1, 2);
  return at::scaled_dot_product_attention(q, q, q, {}, 0.0, true)
      .transpose(1, 2)
      .flatten(0, 1);
}

void bench_shapes(at::ScalarType dtype, const char* title) {
  constexpr int64_t kTokens = 2048, kDim = 256, kHeads = 16, kFfn = 768,
                    kVocabulary = 2048;
  print_head(title);
  const at::Tensor x = leaf({kTokens, kDim}, dtype, 1);
  const at::Tensor scale = leaf({kDim}, dtype, 2);
  const at::Tensor weight = leaf({kFfn, kDim}, dtype, 3);
  const at::Tensor head = leaf({kVocabulary, kDim}, dtype, 4);
  const at::Tensor gate = leaf({kTokens, kFfn}, dtype, 5);
  const at::Tensor up = leaf({kTokens, kFfn}, dtype, 6);
  const at::Tensor heads = leaf({kTokens, kHeads, kDim / kHeads}, dtype, 7);
  const at::Tensor positions = at::arange(kTokens);
  const at::Tensor labels = random_ids({kTokens}, kVocabulary, 8);
  const auto slot = [](const char* id, Attributes attributes = {}) {
    return std::make_shared<Slot>(find_op(id), "bench", "", attributes);
  };
  const auto linear = slot("titan.linear/1");
  compare_training(
      "linear 256 -> 768",
      {x, weight},
      [&] {
        return invoke_one(*linear, {x, weight});
      },
      [&] { return at::linear(x, weight); });
  const auto embedding = slot("titan.embedding/1");
  compare_training(
      "embedding",
      {head},
      [&] {
        return invoke_one(*embedding, {labels, head});
      },
      [&] { return at::embedding(head, labels); });
  const auto norm = slot("titan.rms_norm/1");
  compare_training(
      "rms_norm",
      {x, scale},
      [&] {
        return invoke_one(*norm, {x, scale});
      },
      [&] { return eager_rms_norm(x, scale); });
  const auto swiglu = slot("titan.swiglu/1");
  compare_training(
      "swiglu",
      {gate, up},
      [&] {
        return invoke_one(*swiglu, {gate, up});
      },
      [&] { return at::silu(gate) * up; });
  const auto rope = slot("titan.rope_complex/1");
  const at::Tensor angles =
      at::polar(at::ones({kTokens, 8}), at::rand({kTokens, 8}));
  compare_training(
      "rope_complex",
      {heads},
      [&] {
        return invoke_one(*rope, {heads, positions});
      },
      [&] { return eager_rope(heads, angles); });
  const auto attention = slot("titan.attention/1");
  const at::Tensor bounds =
      at::tensor(std::vector<int32_t>{0, 1024, 2048}, at::kInt);
  compare_training(
      "attention, one document",
      {heads},
      [&] {
        return invoke_one(*attention, {heads, heads, heads});
      },
      [&] { return eager_attention(heads, 1); });
  compare_training(
      "attention, two of 1024",
      {heads},
      [&] {
        return invoke_one(*attention, {heads, heads, heads, bounds});
      },
      [&] { return eager_attention(heads, 2); });
  for (const int64_t chunk : {0, 256, 512, 1024}) {
    const auto loss =
        slot("titan.fused_linear_cross_entropy/1", {{"chunk_tokens", chunk}});
    const std::string what =
        "linear + cross entropy, chunk " + std::to_string(chunk);
    compare_training(
        what.c_str(),
        {x, head},
        [&] {
          return invoke_one(*loss, {x, head, {}, labels});
        },
        [&] {
          return at::cross_entropy_loss(at::linear(x, head).to(at::kFloat),
                                        labels,
                                        {},
                                        at::Reduction::Sum);
        });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  at::set_num_threads(threads);
  std::printf("%d threads, OMP_WAIT_POLICY=%s\n",
              threads,
              std::getenv("OMP_WAIT_POLICY") ? std::getenv("OMP_WAIT_POLICY")
                                             : "unset");
  bench_overhead();
  bench_shapes(at::kFloat, "Forward + backward, fp32");
  bench_shapes(at::kBFloat16, "Forward + backward, bf16");
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/kernels/attention/attention_cpu.h"

#include <array>
#include <cmath>

#include <titan/sdk/tensor_shape.hpp>

#include "plugins/kernels/attention/backward.h"
#include "plugins/kernels/attention/forward.h"

namespace titan::kernels {
namespace {

using namespace attention;

enum Input { kQuery, kKey, kValue, kCuSeqlens };
enum Saved { kOut, kLse };

/// Below this, most of the 64 lanes of a block would hold no query.
constexpr int64_t kFewQueries = 16;
/// Queries of a forward task: enough that laying out the keys costs little.
constexpr int64_t kTaskQueries = 1024;

Sizes sizes_of(TensorView query, TensorView key, TensorView value) {
  return {query.size(0),
          key.size(0),
          query.size(1),
          key.size(1),
          query.size(2),
          value.size(2)};
}

Sight sight_of(const AttributeView& attributes) {
  return {attributes.get("causal", true), attributes.get("window", int64_t{0})};
}

float scale_of(const AttributeView& attributes, int64_t head_dim) {
  const double scale = attributes.get("scale", 0.0);
  return static_cast<float>(
      scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(head_dim)));
}

/// A tensor whose last dim lies together: itself, or a copy.
Tensor with_dense_rows(TensorView tensor) {
  const Tensor own = tensor.retain();
  return own.strides()[2] == 1 || own.size(2) <= 1 ? own : own.contiguous();
}

template <typename Element>
Heads<Element> heads_of(TensorView tensor) {
  if (!tensor.defined()) return {};
  return {tensor.data<Element>(), tensor.strides()[0], tensor.strides()[1]};
}

template <typename Element>
void run_forward(const Call& call) {
  const Tensor query = with_dense_rows(call.in(kQuery));
  const Tensor key = with_dense_rows(call.in(kKey));
  const Tensor value = with_dense_rows(call.in(kValue));
  ForwardProblem<Element> problem;
  problem.sizes = sizes_of(query, key, value);
  problem.sight = sight_of(call.attributes());
  problem.scale = scale_of(call.attributes(), problem.sizes.head_dim);
  problem.query = heads_of<const Element>(query);
  problem.key = heads_of<const Element>(key);
  problem.value = heads_of<const Element>(value);
  problem.out = heads_of<Element>(call.out(0));
  if (call.num_saved() > kLse && call.saved(kLse).defined())
    problem.lse = call.saved(kLse).data<float>();
  const std::vector<Document> documents =
      documents_of(call.has_in(kCuSeqlens) ? call.in(kCuSeqlens) : TensorView(),
                   problem.sizes.num_queries,
                   problem.sizes.num_keys);
  struct Task {
    const Document* document;
    int64_t head, begin;
  };
  std::vector<Task> tasks;
  for (const Document& document : documents)
    for (int64_t head = 0; head < problem.sizes.query_heads; ++head)
      for (int64_t at = 0; at < document.num_queries; at += kTaskQueries)
        tasks.push_back({&document, head, at});
  parallel_for(
      0, static_cast<int64_t>(tasks.size()), 1, [&](int64_t i, int64_t end) {
        ForwardHead<Element> head(problem);
        for (; i < end; ++i) {
          const Task& task = tasks[static_cast<size_t>(i)];
          head.run(
              *task.document,
              task.head,
              task.begin,
              std::min(task.document->num_queries, task.begin + kTaskQueries));
        }
      });
}

template <typename Element>
void run_backward(const Call& call) {
  const auto wanted = [&](uint32_t i) {
    return call.wants(i) ? heads_of<Element>(call.out(i)) : Heads<Element>();
  };
  const Tensor query = with_dense_rows(call.in(kQuery));
  const Tensor key = with_dense_rows(call.in(kKey));
  const Tensor value = with_dense_rows(call.in(kValue));
  const Tensor out = with_dense_rows(call.saved(kOut));
  const Tensor grad_out = with_dense_rows(call.grad_out(0));
  BackwardProblem<Element> problem;
  problem.sizes = sizes_of(query, key, value);
  problem.sight = sight_of(call.attributes());
  problem.scale = scale_of(call.attributes(), problem.sizes.head_dim);
  problem.query = heads_of<const Element>(query);
  problem.key = heads_of<const Element>(key);
  problem.value = heads_of<const Element>(value);
  problem.out = heads_of<const Element>(out);
  problem.grad_out = heads_of<const Element>(grad_out);
  problem.lse = call.saved(kLse).data<const float>();
  problem.lse_token_stride = call.saved(kLse).strides()[0];
  problem.lse_head_stride = call.saved(kLse).strides()[1];
  problem.grad_query = wanted(kQuery);
  problem.grad_key = wanted(kKey);
  problem.grad_value = wanted(kValue);
  const std::vector<Document> documents =
      documents_of(call.has_in(kCuSeqlens) ? call.in(kCuSeqlens) : TensorView(),
                   problem.sizes.num_queries,
                   problem.sizes.num_keys);
  const int64_t key_heads = problem.sizes.key_heads;
  parallel_for(0,
               static_cast<int64_t>(documents.size()) * key_heads,
               1,
               [&](int64_t i, int64_t end) {
                 BackwardHead<Element> head(problem);
                 for (; i < end; ++i)
                   head.run(documents[i / key_heads], i % key_heads);
               });
}

/// Where no query looks (no documents), gradients are zero.
void clear_if_empty(const Call& call) {
  if (call.in(kQuery).size(0) != 0) return;
  for (const Input which : {kKey, kValue}) {
    if (!call.wants(which)) continue;
    const TensorView grad = call.out(which);
    const size_t width = grad.dtype() == Dtype::kBF16 ? 2 : 4;
    std::memset(grad.raw_data(), 0, static_cast<size_t>(grad.numel()) * width);
  }
}

}  // namespace

int AttentionCpu::score(const Shapes& shapes) const {
  if (shapes.attributes().get("logit_cap", 0.0) != 0)
    return shapes.refuse("a cap on the scores");
  if (shapes.in(kQuery).size(0) < kFewQueries)
    return shapes.refuse("fewer than 16 queries");
  return 500;
}

void AttentionCpu::forward(const Call& call) const {
  if (call.in(kQuery).dtype() == Dtype::kBF16) {
    run_forward<BFloat16>(call);
  } else {
    run_forward<float>(call);
  }
}

void AttentionCpu::backward(const Call& call) const {
  TITAN_CHECK(call.grad_out(0).defined(),
              "[titan.attention/1] gradient of out: expected one, got none");
  clear_if_empty(call);
  if (call.in(kQuery).dtype() == Dtype::kBF16) {
    run_backward<BFloat16>(call);
  } else {
    run_backward<float>(call);
  }
}

}  // namespace titan::kernels

// SPDX-License-Identifier: BSD-3-Clause
// titan.attention/1: softmax attention over packed documents, never across
// them. Runs of documents of one length are one batched call; a batch of equal
// documents is therefore a single call. On the CPU that call is LibTorch's
// flash kernel; float64, capped scores and other devices take the exact path.
// Legend: T query tokens, K key tokens, N query heads, M key heads, H head dim
// (of values too, where not said otherwise), B documents of a run, L their
// query length, J their key length.
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kQuery, kKey, kValue, kCuSeqlens, kDocId };
enum Saved { kOut, kLse };

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// `count` consecutive documents of the same lengths.
struct Run {
  int64_t count = 0;
  int64_t query_begin = 0, query_length = 0;
  int64_t key_begin = 0, key_length = 0;
};

struct Options {
  double scale;
  bool is_causal;
  int64_t window;    // 0 = none
  double logit_cap;  // 0 = none
};

Options options_of(const Attributes& attributes, int64_t head_dim) {
  const double scale = attributes.get_double("scale");
  return {scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(head_dim)),
          attributes.get_bool("causal"),
          attributes.get_int("window"),
          attributes.get_double("logit_cap")};
}

void check_shapes(const std::vector<TensorMeta>& in) {
  expect_floating(in[kQuery], "q");
  expect_num_dims(in[kQuery], "q", 3);
  expect_num_dims(in[kKey], "k", 3);
  expect_num_dims(in[kValue], "v", 3);
  expect_dtype(in[kKey], "k", in[kQuery].dtype);
  expect_dtype(in[kValue], "v", in[kQuery].dtype);
  expect_dim(in[kKey], "k", 2, in[kQuery].sizes[2]);
  expect_dim(in[kValue], "v", 0, in[kKey].sizes[0]);
  expect_dim(in[kValue], "v", 1, in[kKey].sizes[1]);
  const int64_t query_heads = in[kQuery].sizes[1];
  const int64_t key_heads = in[kKey].sizes[1];
  TITAN_USER_CHECK(key_heads > 0 && query_heads % key_heads == 0,
                   "k heads: expected a divisor of the ",
                   query_heads,
                   " query heads, got ",
                   key_heads);
  expect_cu_seqlens(in[kCuSeqlens]);
  if (in[kDocId].is_defined) {
    expect_num_dims(in[kDocId], "doc_id", 1);
    expect_dim(in[kDocId], "doc_id", 0, in[kQuery].sizes[0]);
  }
}

Shapes shape(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  check_shapes(in);
  TITAN_USER_CHECK(attributes.get_int("window") >= 0,
                   "window: expected a non-negative number, got ",
                   attributes.get_int("window"));
  TITAN_USER_CHECK(attributes.get_double("logit_cap") >= 0,
                   "logit_cap: expected a non-negative number, got ",
                   attributes.get_double("logit_cap"));
  const auto& query = in[kQuery].sizes;
  const TensorMeta out = in[kQuery].like(
      in[kQuery].dtype, {query[0], query[1], in[kValue].sizes[2]});
  return {
      {out},
      {out, in[kQuery].like(acc_type(in[kQuery].dtype), {query[0], query[1]})}};
}

/// Documents of the batch, in order, without empty ones.
std::vector<Run> runs_of(const at::Tensor& cu_seqlens,
                         int64_t num_queries,
                         int64_t num_keys) {
  std::vector<Run> runs;
  if (num_queries == 0) return runs;
  if (!cu_seqlens.defined() || num_queries != num_keys) {
    // Decoding: one document whose queries are its last tokens.
    TITAN_USER_CHECK(
        !cu_seqlens.defined() || cu_seqlens.numel() <= 2,
        "[titan.attention/1] cu_seqlens: expected one document when k is "
        "longer than q, got ",
        cu_seqlens.numel() - 1);
    return {{1, 0, num_queries, 0, num_keys}};
  }
  const auto bounds =
      document_bounds(cu_seqlens, num_queries, "titan.attention/1");
  for (size_t i = 1; i < bounds.size(); ++i) {
    const int64_t begin = bounds[i - 1];
    const int64_t length = bounds[i] - begin;
    if (length == 0) continue;
    if (!runs.empty() && runs.back().query_length == length) {
      ++runs.back().count;
    } else {
      runs.push_back({1, begin, length, begin, length});
    }
  }
  return runs;
}

void check_causal(const Options& options, int64_t queries, int64_t keys) {
  TITAN_USER_CHECK(!options.is_causal || keys >= queries,
                   "[titan.attention/1] causal with more queries than keys: "
                   "expected at least ",
                   queries,
                   " keys, got ",
                   keys);
}

/// Tokens of a run as [B, heads, length, H]; a view.
at::Tensor as_batch(const at::Tensor& x_TNH,
                    int64_t begin,
                    int64_t count,
                    int64_t length) {
  return x_TNH.narrow(0, begin, count * length)
      .unflatten(0, {count, length})
      .transpose(1, 2);
}

/// [L, J] of 0 and -inf, or undefined when everything is visible. The last
/// query sees the last key.
at::Tensor mask_of(const Options& options,
                   int64_t length_L,
                   int64_t length_J,
                   const at::TensorOptions& tensor_options) {
  if (!options.is_causal && options.window == 0) return at::Tensor();
  if (options.is_causal && length_L == 1 && options.window == 0)
    return at::Tensor();
  const auto integers = tensor_options.dtype(at::kLong);
  const at::Tensor query_L1 =
      at::arange(length_J - length_L, length_J, integers).unsqueeze(1);
  const at::Tensor key_J = at::arange(length_J, integers);
  const at::Tensor distance_LJ = query_L1 - key_J;
  at::Tensor hidden_LJ = options.is_causal
                             ? distance_LJ.lt(0)
                             : at::zeros_like(distance_LJ, at::kBool);
  if (options.window > 0) {
    const at::Tensor reach =
        options.is_causal ? distance_LJ : distance_LJ.abs();
    hidden_LJ.logical_or_(reach.ge(options.window));
  }
  return at::zeros({length_L, length_J}, tensor_options)
      .masked_fill_(hidden_LJ, kMinusInfinity);
}

/// One batched call, exact or flash.
struct Batch {
  at::Tensor query, key, value;  // [B, N, L|J, H]
  at::Tensor mask_LJ;            // undefined = none
  bool is_causal;                // only where no mask says so
  double scale;
  double logit_cap;

  bool uses_flash() const {
    return query.device().is_cpu() && query.scalar_type() != at::kDouble &&
           logit_cap == 0;
  }
};

/// The last dim filled up with zeros, in one pass over memory.
at::Tensor padded(const at::Tensor& x_BNLH, int64_t dim) {
  const int64_t head_dim = x_BNLH.size(-1);
  if (head_dim == dim) return x_BNLH;
  std::vector<int64_t> sizes = x_BNLH.sizes().vec();
  sizes.back() = dim;
  at::Tensor wide = at::empty(sizes, x_BNLH.options());
  wide.narrow(-1, 0, head_dim).copy_(x_BNLH);
  wide.narrow(-1, head_dim, dim - head_dim).zero_();
  return wide;
}

/// The flash kernel knows one head dim. Zeros behind queries and keys change
/// no score, those behind values come out as zeros.
int64_t flash_dim(const Batch& batch) {
  return std::max(batch.query.size(-1), batch.value.size(-1));
}

Batch make_batch(c10::ArrayRef<at::Tensor> inputs,
                 const Options& options,
                 const Run& run) {
  const int64_t num_heads = inputs[kQuery].size(1);
  const auto keys = [&](Input which) {
    return repeat_heads(
        as_batch(inputs[which], run.key_begin, run.count, run.key_length),
        num_heads);
  };
  Batch batch{
      as_batch(inputs[kQuery], run.query_begin, run.count, run.query_length),
      keys(kKey),
      keys(kValue),
      {},
      false,
      options.scale,
      options.logit_cap};
  const bool is_square = run.query_length == run.key_length;
  batch.is_causal = options.is_causal && options.window == 0 && is_square;
  const bool has_mask = !batch.is_causal || !batch.uses_flash();
  if (has_mask) {
    batch.is_causal = false;
    batch.mask_LJ = mask_of(
        options, run.query_length, run.key_length, batch.query.options());
  }
  return batch;
}

std::optional<at::Tensor> optional_mask(const Batch& batch) {
  return batch.mask_LJ.defined() ? std::optional(batch.mask_LJ) : std::nullopt;
}

/// In acc(dtype), scaled and capped.
at::Tensor exact_scores(const Batch& batch) {
  const auto acc = acc_type(batch.query.scalar_type());
  at::Tensor scores_BNLJ =
      at::matmul(batch.query.to(acc), batch.key.to(acc).transpose(2, 3))
          .mul_(batch.scale);
  if (batch.logit_cap != 0)
    scores_BNLJ.div_(batch.logit_cap).tanh_().mul_(batch.logit_cap);
  return scores_BNLJ;
}

void add_mask(const Batch& batch, at::Tensor& scores_BNLJ) {
  if (batch.mask_LJ.defined()) scores_BNLJ.add_(batch.mask_LJ);
}

std::pair<at::Tensor, at::Tensor> forward_batch(const Batch& batch) {
  if (batch.uses_flash()) {
    const int64_t dim = flash_dim(batch);
    auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
        padded(batch.query, dim),
        padded(batch.key, dim),
        padded(batch.value, dim),
        0.0,
        batch.is_causal,
        optional_mask(batch),
        batch.scale);
    return {out.narrow(-1, 0, batch.value.size(-1)), lse};
  }
  at::Tensor scores_BNLJ = exact_scores(batch);
  add_mask(batch, scores_BNLJ);
  const at::Tensor lse_BNL = scores_BNLJ.logsumexp(3);
  const at::Tensor weights_BNLJ = at::exp(scores_BNLJ - lse_BNL.unsqueeze(3));
  const at::Tensor out_BNLH =
      at::matmul(weights_BNLJ, batch.value.to(lse_BNL.scalar_type()));
  return {out_BNLH.to(batch.query.scalar_type()), lse_BNL};
}

struct BatchGrads {
  at::Tensor query, key, value;
};

BatchGrads backward_batch(const Batch& batch,
                          const at::Tensor& grad_BNLH,
                          const at::Tensor& out_BNLH,
                          const at::Tensor& lse_BNL) {
  if (batch.uses_flash()) {
    const int64_t dim = flash_dim(batch);
    auto [query, key, value] =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(
            padded(grad_BNLH, dim),
            padded(batch.query, dim),
            padded(batch.key, dim),
            padded(batch.value, dim),
            padded(out_BNLH, dim),
            lse_BNL,
            0.0,
            batch.is_causal,
            optional_mask(batch),
            batch.scale);
    return {query.narrow(-1, 0, batch.query.size(-1)),
            key.narrow(-1, 0, batch.key.size(-1)),
            value.narrow(-1, 0, batch.value.size(-1))};
  }
  const auto acc = lse_BNL.scalar_type();
  const auto dtype = batch.query.scalar_type();
  const at::Tensor grad = grad_BNLH.to(acc);
  at::Tensor scores_BNLJ = exact_scores(batch);
  at::Tensor slope_BNLJ;  // d/ds cap tanh(s / cap) = 1 - tanh^2(s / cap)
  if (batch.logit_cap != 0)
    slope_BNLJ = 1 - (scores_BNLJ / batch.logit_cap).square_();
  add_mask(batch, scores_BNLJ);
  const at::Tensor weights_BNLJ = at::exp(scores_BNLJ - lse_BNL.unsqueeze(3));
  const at::Tensor delta_BNL1 =
      (grad * out_BNLH.to(acc)).sum(at::IntArrayRef{3}, true);
  const at::Tensor grad_scores_BNLJ =
      (at::matmul(grad, batch.value.to(acc).transpose(2, 3)) - delta_BNL1)
          .mul_(weights_BNLJ)
          .mul_(batch.scale);
  if (slope_BNLJ.defined()) grad_scores_BNLJ.mul_(slope_BNLJ);
  return {at::matmul(grad_scores_BNLJ, batch.key.to(acc)).to(dtype),
          at::matmul(grad_scores_BNLJ.transpose(2, 3), batch.query.to(acc))
              .to(dtype),
          at::matmul(weights_BNLJ.transpose(2, 3), grad).to(dtype)};
}

/// [B, N, L, H] back to [B L, N, H]; a view for what flash returns.
at::Tensor as_tokens(const at::Tensor& x_BNLH) {
  return x_BNLH.transpose(1, 2).flatten(0, 1);
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor& query = call.inputs[kQuery];
  const at::Tensor& value = call.inputs[kValue];
  const Options options = options_of(call.attributes, query.size(2));
  check_causal(options, query.size(0), value.size(0));
  const auto runs =
      runs_of(call.inputs[kCuSeqlens], query.size(0), value.size(0));
  if (runs.size() == 1) {
    auto [out_BNLH, lse_BNL] =
        forward_batch(make_batch(call.inputs, options, runs[0]));
    const at::Tensor out = as_tokens(out_BNLH).contiguous();
    return {{out}, {out, as_tokens(lse_BNL)}};
  }
  at::Tensor out =
      at::empty({query.size(0), query.size(1), value.size(2)}, query.options());
  at::Tensor lse =
      at::empty({query.size(0), query.size(1)},
                query.options().dtype(acc_type(query.scalar_type())));
  for (const Run& run : runs) {
    auto [out_BNLH, lse_BNL] =
        forward_batch(make_batch(call.inputs, options, run));
    const int64_t num_tokens = run.count * run.query_length;
    out.narrow(0, run.query_begin, num_tokens).copy_(as_tokens(out_BNLH));
    lse.narrow(0, run.query_begin, num_tokens).copy_(as_tokens(lse_BNL));
  }
  return {{out}, {out, lse}};
}

BatchGrads backward_run(const BackwardCall& call,
                        const Options& options,
                        const Run& run) {
  const auto batch_of = [&run](const at::Tensor& tokens) {
    return as_batch(tokens, run.query_begin, run.count, run.query_length);
  };
  const at::Tensor lse_BNL =
      call.saved[kLse]
          .narrow(0, run.query_begin, run.count * run.query_length)
          .unflatten(0, {run.count, run.query_length})
          .transpose(1, 2);
  BatchGrads grads = backward_batch(make_batch(call.inputs, options, run),
                                    batch_of(call.grad_outputs[0]),
                                    batch_of(call.saved[kOut]),
                                    lse_BNL);
  const int64_t key_heads = call.inputs[kKey].size(1);
  return {as_tokens(grads.query),
          as_tokens(sum_heads(grads.key, key_heads)),
          as_tokens(sum_heads(grads.value, key_heads))};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  const at::Tensor& query = call.inputs[kQuery];
  const at::Tensor& key = call.inputs[kKey];
  const Options options = options_of(call.attributes, query.size(2));
  const auto runs =
      runs_of(call.inputs[kCuSeqlens], query.size(0), key.size(0));
  std::vector<at::Tensor> grads(5);
  if (runs.size() == 1) {
    BatchGrads found = backward_run(call, options, runs[0]);
    grads[kQuery] = std::move(found.query);
    grads[kKey] = std::move(found.key);
    grads[kValue] = std::move(found.value);
  } else {
    for (const Input which : {kQuery, kKey, kValue})
      grads[which] = at::zeros(call.inputs[which].sizes(), query.options());
    for (const Run& run : runs) {
      const BatchGrads found = backward_run(call, options, run);
      const auto put = [&grads](Input which, int64_t begin, const auto& part) {
        grads[which].narrow(0, begin, part.size(0)).copy_(part);
      };
      put(kQuery, run.query_begin, found.query);
      put(kKey, run.key_begin, found.key);
      put(kValue, run.key_begin, found.value);
    }
  }
  for (const Input which : {kQuery, kKey, kValue})
    if (!(call.want >> which & 1)) grads[which] = at::Tensor();
  return grads;
}

/// Taken as documents of equal length; a causal one computes half.
double flops(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  const auto& query = in[kQuery].sizes;
  const int64_t documents =
      in[kCuSeqlens].is_defined
          ? std::max<int64_t>(1, in[kCuSeqlens].sizes[0] - 1)
          : 1;
  double visible =
      static_cast<double>(in[kKey].sizes[0]) / static_cast<double>(documents);
  if (attributes.get_bool("causal") && query[0] == in[kKey].sizes[0])
    visible /= 2;
  const auto window = static_cast<double>(attributes.get_int("window"));
  if (window > 0) visible = std::min(visible, window);
  return 2.0 * static_cast<double>(query[0] * query[1]) * visible *
         static_cast<double>(query[2] + in[kValue].sizes[2]);
}

struct Sizes {
  std::vector<int32_t> bounds;  // of documents; empty = one, unstated
  int64_t query_heads, key_heads, head_dim, value_dim;
  int64_t num_queries, num_keys;
};

ConformanceCase make_case(std::string name,
                          Sizes sizes,
                          Attributes attributes) {
  return {
      std::move(name),
      std::move(attributes),
      [=](at::ScalarType dtype, uint64_t seed) {
        at::Tensor bounds;
        if (!sizes.bounds.empty()) bounds = at::tensor(sizes.bounds, at::kInt);
        return std::vector<at::Tensor>{
            random_normal(
                {sizes.num_queries, sizes.query_heads, sizes.head_dim},
                dtype,
                seed),
            random_normal({sizes.num_keys, sizes.key_heads, sizes.head_dim},
                          dtype,
                          seed + 1),
            random_normal({sizes.num_keys, sizes.key_heads, sizes.value_dim},
                          dtype,
                          seed + 2),
            bounds,
            at::Tensor()};
      }};
}

std::vector<ConformanceCase> make_cases() {
  const Attributes window = {{"window", int64_t{3}}};
  const Attributes full = {{"causal", false}};
  const Attributes capped = {{"logit_cap", 0.8}};
  const Attributes far = {{"window", int64_t{50}}};
  const Attributes both_ways = {{"window", int64_t{50}}, {"causal", false}};
  const Attributes scaled = {{"scale", 0.3}};
  const Attributes capped_window = {{"logit_cap", 1.5}, {"window", int64_t{4}}};
  return {
      make_case("causal, prime length", {{}, 2, 2, 8, 8, 13, 13}, {}),
      make_case("one token", {{}, 2, 2, 8, 8, 1, 1}, {}),
      make_case("no tokens", {{0}, 2, 2, 8, 8, 0, 0}, {}),
      make_case("grouped heads", {{}, 6, 2, 8, 8, 11, 11}, {}),
      make_case("equal documents", {{0, 6, 12}, 4, 2, 8, 8, 12, 12}, {}),
      make_case(
          "unequal documents", {{0, 1, 8, 8, 13}, 2, 1, 8, 8, 13, 13}, {}),
      make_case("window", {{0, 5, 16}, 2, 2, 8, 8, 16, 16}, window),
      make_case("not causal", {{0, 5, 12}, 2, 2, 8, 8, 12, 12}, full),
      make_case("capped", {{0, 5, 16}, 4, 2, 8, 8, 16, 16}, capped),
      make_case(
          "capped window", {{0, 9, 13}, 2, 2, 8, 8, 13, 13}, capped_window),
      make_case("capped decode", {{}, 4, 2, 8, 8, 3, 9}, capped),
      make_case("value dim", {{0, 5, 12}, 2, 2, 12, 8, 12, 12}, {}),
      make_case("wide values", {{0, 6, 12}, 4, 2, 6, 10, 12, 12}, window),
      make_case("decode one", {{}, 4, 2, 8, 8, 1, 9}, {}),
      make_case("decode some", {{}, 2, 2, 8, 8, 3, 9}, {}),
      // More than a block of queries or of keys, and none of them whole.
      make_case("blocks", {{0, 70, 71, 201}, 4, 2, 20, 24, 201, 201}, {}),
      make_case("blocks, whole", {{0, 128, 256}, 2, 2, 16, 64, 256, 256}, {}),
      make_case("blocks, window", {{0, 33, 183}, 2, 1, 64, 16, 183, 183}, far),
      make_case("blocks, window both ways",
                {{0, 33, 183}, 2, 1, 16, 16, 183, 183},
                both_ways),
      make_case("blocks, not causal", {{0, 100}, 3, 3, 7, 5, 100, 100}, full),
      make_case("blocks, scaled", {{}, 2, 2, 32, 32, 97, 97}, scaled),
      make_case("decode blocks", {{}, 2, 1, 24, 40, 70, 190}, {})};
}

}  // namespace

OpSpec attention_spec() {
  OpSpec spec;
  spec.id = "titan.attention/1";
  spec.formula =
      "out[t, n] = sum_j softmax_j(scale * q[t, n] . k[j, m]) v[j, m], m = n / "
      "(N / M), over the j of t's document that causal and window allow; with "
      "a cap the softmax is of cap * tanh(scores / cap)";
  spec.inputs = {{"q"},
                 {"k"},
                 {"v"},
                 {"cu_seqlens", true, false, true},
                 {"doc_id", true, false, true}};
  spec.outputs = {{"out"}};
  spec.saved = {"out", "lse"};
  spec.attributes = {
      {"scale", 0.0, "factor of the scores; 0 = 1 / sqrt(head dim)"},
      {"causal", true, "a query sees itself and what comes before"},
      {"window", int64_t{0}, "tokens visible, itself included; 0 = all"},
      {"logit_cap", 0.0, "scores become cap * tanh(scores / cap); 0 = none"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = flops;
  spec.backward_flops_ratio = 2.5;  // five products instead of two
  spec.tolerances = rounding_tolerances(
      64,
      "softmax in acc(dtype); LibTorch's flash kernel rounds P to the dtype");
  spec.cases = make_cases;
  spec.is_stateful = true;
  spec.cache_spec = "keys_values";
  return spec;
}

}  // namespace titan::op::reference

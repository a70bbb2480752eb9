// SPDX-License-Identifier: BSD-3-Clause
// titan.moe_router/1: which experts a token goes to, and with what weight. A
// bias moves the choice, never the weight. Equal choices fall to the lower
// index, so that routing is a function of its inputs alone. Legend: T tokens, E
// experts, K experts per token, G groups.
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "core/op/reference/moe_scores.h"

namespace titan::op::reference {
namespace {

enum Input { kLogits, kBias, kGivenIndices };

// Keeps the division finite where all chosen scores underflow; torchtitan and
// Hugging Face use the same number.
constexpr double kNormaliseEps = 1e-20;

void check_groups(const Attributes& attributes, int64_t num_experts) {
  const int64_t groups = attributes.get_int("num_groups");
  const int64_t limited = attributes.get_int("num_limited_groups");
  const int64_t top = attributes.get_int("group_top");
  TITAN_USER_CHECK(groups >= 1 && num_experts % groups == 0,
                   "num_groups: expected a divisor of ",
                   num_experts,
                   " experts, got ",
                   groups);
  TITAN_USER_CHECK(limited >= 1 && limited <= groups,
                   "num_limited_groups: expected 1 to ",
                   groups,
                   ", got ",
                   limited);
  const int64_t size = num_experts / groups;
  TITAN_USER_CHECK(groups == 1 || (top >= 1 && top <= size),
                   "group_top: expected 1 to ",
                   size,
                   " experts of a group, got ",
                   top);
  TITAN_USER_CHECK(limited * size >= attributes.get_int("top_k"),
                   "num_limited_groups: expected groups with at least top_k ",
                   attributes.get_int("top_k"),
                   " experts, got ",
                   limited * size);
}

Shapes shape(const Attributes& attributes, const std::vector<TensorMeta>& in) {
  expect_floating(in[kLogits], "logits");
  expect_num_dims(in[kLogits], "logits", 2);
  const int64_t num_tokens = in[kLogits].sizes[0];
  const int64_t num_experts = in[kLogits].sizes[1];
  const int64_t top_k = attributes.get_int("top_k");
  TITAN_USER_CHECK(top_k >= 1 && top_k <= num_experts,
                   "top_k: expected 1 to ",
                   num_experts,
                   " experts, got ",
                   top_k);
  if (in[kBias].is_defined) {
    expect_floating(in[kBias], "bias");
    expect_num_dims(in[kBias], "bias", 1);
    expect_dim(in[kBias], "bias", 0, num_experts);
  }
  if (in[kGivenIndices].is_defined) {
    expect_integer(in[kGivenIndices], "given_indices");
    expect_num_dims(in[kGivenIndices], "given_indices", 2);
    expect_dim(in[kGivenIndices], "given_indices", 0, num_tokens);
    expect_dim(in[kGivenIndices], "given_indices", 1, top_k);
  } else {
    check_groups(attributes, num_experts);
  }
  const auto acc = acc_type(in[kLogits].dtype);
  return {{in[kLogits].like(acc, {num_tokens, top_k}),
           in[kLogits].like(at::kLong, {num_tokens, top_k}),
           in[kLogits].like(at::kLong, {num_experts})},
          {in[kLogits].like(at::kLong, {num_tokens, top_k})}};
}

// NaN is above all, so that it is seen.
template <typename Real>
bool is_above(Real a, Real b) {
  return a > b || (std::isnan(a) && !std::isnan(b));
}

// Of one row, by insertion: most values meet only the k-th best.
template <typename Real>
void top_k_of_row(const Real* values,
                  int64_t width,
                  int64_t* index,
                  int64_t k) {
  int64_t filled = 0;
  for (int64_t i = 0; i < width; ++i) {
    if (filled == k && !is_above(values[i], values[index[k - 1]])) continue;
    int64_t at = filled < k ? filled++ : k - 1;
    for (; at > 0 && is_above(values[i], values[index[at - 1]]); --at)
      index[at] = index[at - 1];
    index[at] = i;
  }
}

// The k largest of each row, in descending order, the lower index first among
// equals: at::topk leaves the order of equals open.
at::Tensor stable_top_k(const at::Tensor& values_RE, int64_t k) {
  if (!values_RE.is_cpu())
    return std::get<1>(at::sort(values_RE, /*stable=*/true, 1, true))
        .narrow(1, 0, k)
        .contiguous();
  const at::Tensor dense_RE = values_RE.contiguous();
  const int64_t width = dense_RE.size(1);
  at::Tensor index_RK =
      at::empty({dense_RE.size(0), k}, dense_RE.options().dtype(at::kLong));
  auto* index = index_RK.mutable_data_ptr<int64_t>();
  AT_DISPATCH_FLOATING_TYPES(dense_RE.scalar_type(), "stable_top_k", [&] {
    const scalar_t* values = dense_RE.const_data_ptr<scalar_t>();
    at::parallel_for(0, dense_RE.size(0), 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        top_k_of_row(values + row * width, width, index + row * k, k);
    });
  });
  return index_RK;
}

// Only the best groups stay: a group is worth the sum of its best experts.
at::Tensor keep_best_groups(const Attributes& attributes,
                            const at::Tensor& choice_TE) {
  const int64_t groups = attributes.get_int("num_groups");
  const int64_t limited = attributes.get_int("num_limited_groups");
  if (limited == groups) return choice_TE;
  const at::Tensor choice_TGM =
      choice_TE.reshape({choice_TE.size(0), groups, -1});
  const at::Tensor worth_TG =
      std::get<0>(choice_TGM.topk(attributes.get_int("group_top"), 2)).sum(2);
  const at::Tensor is_dropped_TG =
      at::ones(worth_TG.sizes(), worth_TG.options().dtype(at::kBool))
          .scatter_(1, stable_top_k(worth_TG, limited), false);
  return choice_TGM
      .masked_fill(is_dropped_TG.unsqueeze(2),
                   -std::numeric_limits<double>::infinity())
      .reshape(choice_TE.sizes());
}

at::Tensor choose(const ForwardCall& call, const at::Tensor& scores_TE) {
  if (call.inputs[kGivenIndices].defined())
    return call.inputs[kGivenIndices].to(at::kLong, false, /*copy=*/true);
  at::Tensor choice_TE = scores_TE;
  if (call.inputs[kBias].defined())
    choice_TE = choice_TE + call.inputs[kBias].to(choice_TE.scalar_type());
  return stable_top_k(keep_best_groups(call.attributes, choice_TE),
                      call.attributes.get_int("top_k"));
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor scores_TE =
      moe_scores(call.attributes, call.inputs[kLogits]);
  const at::Tensor index_TK = choose(call, scores_TE);
  at::Tensor weight_TK = scores_TE.gather(1, index_TK);
  if (call.attributes.get_bool("normalise"))
    weight_TK = weight_TK / (weight_TK.sum(1, true) + kNormaliseEps);
  weight_TK = weight_TK * call.attributes.get_double("scale");
  // Whole numbers: exact and in no order, on any device.
  const at::Tensor flat = index_TK.reshape({-1});
  const at::Tensor counts_E = at::zeros({scores_TE.size(1)}, index_TK.options())
                                  .scatter_add_(0, flat, at::ones_like(flat));
  return {{weight_TK, index_TK, counts_E}, {index_TK}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  std::vector<at::Tensor> grads(3);
  if (!(call.want & 1 << kLogits)) return grads;
  const at::Tensor& logits_TE = call.inputs[kLogits];
  const at::Tensor& index_TK = call.saved[0];
  const at::Tensor scores_TE = moe_scores(call.attributes, logits_TE);
  at::Tensor grad_TK =
      call.grad_outputs[0] * call.attributes.get_double("scale");
  if (call.attributes.get_bool("normalise")) {
    const at::Tensor chosen_TK = scores_TE.gather(1, index_TK);
    const at::Tensor sum_T1 = chosen_TK.sum(1, true) + kNormaliseEps;
    grad_TK = (grad_TK - (grad_TK * chosen_TK).sum(1, true) / sum_T1) / sum_T1;
  }
  // Adds: a given table may name an expert twice.
  const at::Tensor grad_TE =
      at::zeros_like(scores_TE).scatter_add_(1, index_TK, grad_TK);
  grads[kLogits] =
      moe_scores_backward(call.attributes, logits_TE, scores_TE, grad_TE);
  return grads;
}

struct CaseSize {
  int64_t num_tokens, num_experts;
  bool has_bias = false;
  bool has_given = false;
};

ConformanceCase make_case(std::string name,
                          Attributes attributes,
                          CaseSize size) {
  const int64_t top_k = attributes.get_int("top_k");
  return {std::move(name),
          std::move(attributes),
          [=](at::ScalarType dtype, uint64_t seed) {
            std::vector<at::Tensor> in(3);
            in[kLogits] =
                random_normal({size.num_tokens, size.num_experts}, dtype, seed);
            if (size.has_bias)
              in[kBias] = random_normal({size.num_experts}, dtype, seed + 1);
            if (size.has_given)
              in[kGivenIndices] = random_ids(
                  {size.num_tokens, top_k}, size.num_experts, seed + 2);
            return in;
          }};
}

std::vector<ConformanceCase> cases() {
  const std::string sigmoid = "sigmoid";
  return {
      make_case("prime sizes, softmax", {{"top_k", int64_t{3}}}, {13, 7}),
      make_case(
          "normalised", {{"top_k", int64_t{2}}, {"normalise", true}}, {11, 5}),
      make_case("sigmoid, bias, groups",
                {{"top_k", int64_t{4}},
                 {"score", sigmoid},
                 {"num_groups", int64_t{4}},
                 {"num_limited_groups", int64_t{2}},
                 {"normalise", true},
                 {"scale", 2.5}},
                {17, 16, true}),
      make_case("groups by their best expert",
                {{"top_k", int64_t{2}},
                 {"num_groups", int64_t{3}},
                 {"num_limited_groups", int64_t{2}},
                 {"group_top", int64_t{1}}},
                {5, 9}),
      make_case("square root of softplus, experts given",
                {{"top_k", int64_t{2}},
                 {"score", std::string("sqrt_softplus")},
                 {"normalise", true}},
                {7, 6, false, true}),
      make_case("every expert", {{"top_k", int64_t{3}}}, {4, 3, true}),
      make_case("no tokens", {{"top_k", int64_t{1}}}, {0, 3})};
}

}  // namespace

OpSpec moe_router_spec() {
  OpSpec spec;
  spec.id = "titan.moe_router/1";
  spec.formula =
      "s = score(logits); indices = top_k(s + bias within the best groups); "
      "weights = scale * s[indices] (/ (sum + 1e-20)); counts[e] = how often e "
      "is in indices";
  spec.inputs = {{"logits"},
                 {"bias", true, false, false},
                 {"given_indices", true, false, false}};
  spec.outputs = {{"weights"}, {"indices", false}, {"counts", false}};
  spec.saved = {"indices"};
  spec.attributes = {
      {"top_k", int64_t{1}, "experts per token", {}, true},
      moe_score_attribute(),
      {"num_groups", int64_t{1}, "groups of neighbouring experts; 1 = none"},
      {"num_limited_groups", int64_t{1}, "groups that a token may use"},
      {"group_top", int64_t{2}, "a group is worth the sum of its best n"},
      {"normalise", false, "weights of a token sum to scale"},
      {"scale", 1.0, "factor of all weights"}};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 5.0 * static_cast<double>(in[kLogits].num_elements());
  };
  spec.tolerances = rounding_tolerances(
      16, "softmax and a normalising sum of 4 terms in acc(dtype); slack 2");
  spec.cases = cases;
  return spec;
}

}  // namespace titan::op::reference

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/core/op/moe_formulas.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <ATen/ATen.h>

namespace titan::op::test {
namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor score_of(const Attributes& attributes, const at::Tensor& logits_E) {
  const std::string& score = attributes.get_string("score");
  if (score == "sigmoid") return 1 / (1 + at::exp(-logits_E));
  if (score == "sqrt_softplus") return at::sqrt(at::log(1 + at::exp(logits_E)));
  const at::Tensor powers = at::exp(logits_E);
  return powers / powers.sum();
}

// Indices of the k largest, the first among equals.
std::vector<int64_t> best_of(const std::vector<double>& values, int64_t k) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  order.resize(static_cast<size_t>(k));
  return order;
}

std::vector<int64_t> chosen_experts(const Attributes& attributes,
                                    std::vector<double> choice) {
  const auto num_groups = static_cast<size_t>(attributes.get_int("num_groups"));
  const size_t size = choice.size() / num_groups;
  const auto top = static_cast<size_t>(attributes.get_int("group_top"));
  if (num_groups > 1) {
    std::vector<double> worth;
    for (size_t g = 0; g < num_groups; ++g) {
      const auto first = choice.begin() + static_cast<std::ptrdiff_t>(g * size);
      std::vector<double> group(first,
                                first + static_cast<std::ptrdiff_t>(size));
      std::sort(group.rbegin(), group.rend());
      double sum = 0;
      for (size_t i = 0; i < top; ++i) sum += group[i];
      worth.push_back(sum);
    }
    const auto kept = best_of(worth, attributes.get_int("num_limited_groups"));
    for (size_t e = 0; e < choice.size(); ++e)
      if (std::find(kept.begin(), kept.end(), static_cast<int64_t>(e / size)) ==
          kept.end())
        choice[e] = -1e300;
  }
  return best_of(choice, attributes.get_int("top_k"));
}

Tensors router_formula(const Attributes& attributes, const Tensors& in) {
  const int64_t num_tokens = in[0].size(0), num_experts = in[0].size(1);
  const int64_t top_k = attributes.get_int("top_k");
  Tensors weights;
  std::vector<int64_t> indices, counts(static_cast<size_t>(num_experts), 0);
  for (int64_t t = 0; t < num_tokens; ++t) {
    const at::Tensor score_E = score_of(attributes, in[0][t]);
    std::vector<int64_t> chosen;
    if (in[2].defined()) {
      for (int64_t k = 0; k < top_k; ++k)
        chosen.push_back(in[2][t][k].item<int64_t>());
    } else {
      std::vector<double> choice;
      for (int64_t e = 0; e < num_experts; ++e)
        choice.push_back(score_E[e].item<double>() +
                         (in[1].defined() ? in[1][e].item<double>() : 0));
      chosen = chosen_experts(attributes, choice);
    }
    Tensors of_token;
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (const int64_t e : chosen) {
      of_token.push_back(score_E[e]);
      sum = sum + score_E[e];
      indices.push_back(e);
      ++counts[static_cast<size_t>(e)];
    }
    at::Tensor weight_K = at::stack(of_token);
    if (attributes.get_bool("normalise")) weight_K = weight_K / (sum + 1e-20);
    weights.push_back(weight_K * attributes.get_double("scale"));
  }
  const at::Tensor weight_TK =
      weights.empty() ? in[0].sum().expand({0, top_k}) : at::stack(weights);
  return {weight_TK,
          at::tensor(indices, at::kLong).view({num_tokens, top_k}),
          at::tensor(counts, at::kLong)};
}

Tensors dispatch_formula(const Attributes& attributes, const Tensors& in) {
  const int64_t num_tokens = in[0].size(0), top_k = in[1].size(1);
  Tensors rows;
  std::vector<int32_t> offsets = {0};
  at::Tensor place_TK = at::zeros_like(in[1]);
  for (int64_t e = 0; e < attributes.get_int("num_experts"); ++e) {
    for (int64_t t = 0; t < num_tokens; ++t)
      for (int64_t k = 0; k < top_k; ++k) {
        if (in[1][t][k].item<int64_t>() != e) continue;
        place_TK[t][k] = static_cast<int64_t>(rows.size());
        rows.push_back(in[0][t]);
      }
    offsets.push_back(static_cast<int32_t>(rows.size()));
  }
  const at::Tensor rows_RD =
      rows.empty() ? in[0].sum().expand({0, in[0].size(1)}) : at::stack(rows);
  return {rows_RD, at::tensor(offsets, at::kInt), place_TK};
}

Tensors combine_formula(const Attributes&, const Tensors& in) {
  Tensors rows;
  for (int64_t t = 0; t < in[2].size(0); ++t) {
    at::Tensor sum = at::zeros({in[0].size(1)}, at::kDouble);
    for (int64_t k = 0; k < in[2].size(1); ++k)
      sum = sum + in[1][t][k] * in[0][in[2][t][k].item<int64_t>()];
    rows.push_back(sum);
  }
  if (rows.empty())
    return {(in[0].sum() + in[1].sum()).expand({0, in[0].size(1)})};
  return {at::stack(rows)};
}

Tensors grouped_linear_formula(const Attributes&, const Tensors& in) {
  Tensors rows;
  for (int64_t e = 0; e < in[2].size(0); ++e)
    for (int64_t r = in[1][e].item<int64_t>(); r < in[1][e + 1].item<int64_t>();
         ++r) {
      const at::Tensor y = at::mv(in[2][e], in[0][r]);
      rows.push_back(in[3].defined() ? y + in[3][e] : y);
    }
  if (rows.empty()) {
    at::Tensor nothing = in[0].sum() + in[2].sum();
    if (in[3].defined()) nothing = nothing + in[3].sum();
    return {nothing.expand({0, in[2].size(1)})};
  }
  return {at::stack(rows)};
}

// Equations 17 to 20 of arXiv 2412.19437, sequence by sequence.
Tensors balance_loss_formula(const Attributes& attributes, const Tensors& in) {
  const int64_t num_experts = in[0].size(1), top_k = in[1].size(1);
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (int64_t s = 0; s + 1 < in[2].numel(); ++s) {
    const auto begin = in[2][s].item<int64_t>();
    const auto length = in[2][s + 1].item<int64_t>() - begin;
    if (length == 0) continue;
    at::Tensor share_E = at::zeros({num_experts}, at::kDouble);
    std::vector<double> chosen(static_cast<size_t>(num_experts), 0);
    for (int64_t t = begin; t < begin + length; ++t) {
      const at::Tensor score_E = score_of(attributes, in[0][t]);
      share_E = share_E + score_E / score_E.sum();
      for (int64_t k = 0; k < top_k; ++k)
        chosen[static_cast<size_t>(in[1][t][k].item<int64_t>())] += 1;
    }
    const at::Tensor f_E = at::tensor(chosen, at::kDouble) *
                           static_cast<double>(num_experts) /
                           static_cast<double>(top_k * length);
    loss = loss + (f_E * share_E / static_cast<double>(length)).sum();
  }
  return {loss};
}

}  // namespace

Formula moe_formula(const std::string& name) {
  static const std::map<std::string, Formula> formulas = {
      {"grouped_linear", grouped_linear_formula},
      {"moe_balance_loss", balance_loss_formula},
      {"moe_combine", combine_formula},
      {"moe_dispatch", dispatch_formula},
      {"moe_router", router_formula}};
  const auto found = formulas.find(name);
  return found == formulas.end() ? nullptr : found->second;
}

}  // namespace titan::op::test

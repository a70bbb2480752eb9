// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/core/op/formulas.h"

#include <cmath>
#include <limits>
#include <map>

#include <ATen/ATen.h>

#include "tests/unit/core/op/moe_formulas.h"

namespace titan::op::test {
namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor linear(const at::Tensor& x,
                  const at::Tensor& weight,
                  const at::Tensor& bias) {
  const at::Tensor y = at::matmul(x, weight.t());
  return bias.defined() ? y + bias : y;
}

Tensors linear_formula(const Attributes&, const Tensors& in) {
  return {linear(in[0], in[1], in[2])};
}

Tensors embedding_formula(const Attributes&, const Tensors& in) {
  auto sizes = in[0].sizes().vec();
  sizes.push_back(in[1].size(1));
  return {in[1].index_select(0, in[0].reshape({-1})).reshape(sizes)};
}

Tensors rms_norm_formula(const Attributes& attributes, const Tensors& in) {
  const at::Tensor mean = (in[0] * in[0]).mean(-1, true);
  at::Tensor y = in[0] / at::sqrt(mean + attributes.get_double("eps"));
  if (in[1].defined()) y = y * (in[1] + attributes.get_int("offset"));
  return {y};
}

Tensors layer_norm_formula(const Attributes& attributes, const Tensors& in) {
  const at::Tensor centred = in[0] - in[0].mean(-1, true);
  const at::Tensor variance = (centred * centred).mean(-1, true);
  at::Tensor y = centred / at::sqrt(variance + attributes.get_double("eps"));
  if (in[1].defined()) y = y * in[1];
  return {in[2].defined() ? y + in[2] : y};
}

Tensors swiglu_formula(const Attributes&, const Tensors& in) {
  return {in[0] / (1 + at::exp(-in[0])) * in[1]};
}

at::Tensor apply_function(const std::string& name, const at::Tensor& x) {
  const auto cube = [&] { return x * x * x; };
  if (name == "silu") return x / (1 + at::exp(-x));
  if (name == "gelu") return 0.5 * x * (1 + at::erf(x / std::sqrt(2.0)));
  if (name == "gelu_tanh")
    return 0.5 * x *
           (1 + at::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * cube())));
  if (name == "gelu_quick") return x / (1 + at::exp(-1.702 * x));
  const at::Tensor positive = at::where(x > 0, x, at::zeros_like(x));
  return name == "relu" ? positive : positive * positive;
}

Tensors activation_formula(const Attributes& attributes, const Tensors& in) {
  const at::Tensor y = apply_function(attributes.get_string("function"), in[0]);
  return {in[1].defined() ? y * in[1] : y};
}

/// Frequency of pair j: written out once more, from the papers.
double frequency(const Attributes& attributes, int64_t j, int64_t dims) {
  const double theta = attributes.get_double("theta");
  const double factor = attributes.get_double("factor");
  const auto original =
      static_cast<double>(attributes.get_int("original_max_position"));
  const double f = std::exp(-std::log(theta) * 2.0 * static_cast<double>(j) /
                            static_cast<double>(dims));
  const std::string& scaling = attributes.get_string("scaling");
  if (scaling == "linear") return f / factor;
  if (scaling == "llama") {
    const double low = attributes.get_double("low_freq_factor");
    const double high = attributes.get_double("high_freq_factor");
    const double turns = original * f / (2 * M_PI);  // within the old length
    if (turns < low) return f / factor;
    if (turns > high) return f;
    const double t = (turns - low) / (high - low);
    return f * (t + (1 - t) / factor);
  }
  if (scaling == "yarn") {
    const auto dim_of = [&](double turns) {
      return static_cast<double>(dims) *
             std::log(original / (2 * M_PI * turns)) / (2 * std::log(theta));
    };
    const double from =
        std::max(0.0, std::floor(dim_of(attributes.get_double("beta_fast"))));
    const double to =
        std::min(static_cast<double>(dims - 1),
                 std::ceil(dim_of(attributes.get_double("beta_slow"))));
    const double ramp = std::min(
        1.0, std::max(0.0, (static_cast<double>(j) - from) / (to - from)));
    return f * (1 - ramp) + f / factor * ramp;
  }
  return f;
}

Tensors rope_formula(const Attributes& attributes,
                     const Tensors& in,
                     bool is_adjacent) {
  const int64_t given = attributes.get_int("rotary_dim");
  const int64_t dims = given == 0 ? in[0].size(2) : given;
  std::vector<at::Tensor> columns(in[0].size(2));
  for (int64_t j = 0; j < in[0].size(2); ++j) columns[j] = in[0].select(2, j);
  const Tensors x = columns;
  for (int64_t j = 0; j < dims / 2; ++j) {
    const at::Tensor angle =
        (in[1].to(at::kDouble) * frequency(attributes, j, dims)).unsqueeze(1);
    const int64_t a = is_adjacent ? 2 * j : j;
    const int64_t b = is_adjacent ? 2 * j + 1 : j + dims / 2;
    const double magnitude = attributes.get_double("magnitude");
    columns[a] = (x[a] * angle.cos() - x[b] * angle.sin()) * magnitude;
    columns[b] = (x[a] * angle.sin() + x[b] * angle.cos()) * magnitude;
  }
  return {at::stack(columns, 2)};
}

/// Token by token and head by head.
Tensors attention_formula(const Attributes& attributes, const Tensors& in) {
  const int64_t num_queries = in[0].size(0);
  const int64_t num_keys = in[1].size(0);
  const int64_t group = in[0].size(1) / in[1].size(1);
  double scale = attributes.get_double("scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(in[0].size(2)));
  const int64_t window = attributes.get_int("window");
  const double cap = attributes.get_double("logit_cap");
  const bool is_causal = attributes.get_bool("causal");
  at::Tensor bounds = at::zeros({0}, at::kInt);
  if (in[3].defined() && num_queries == num_keys) bounds = in[3];
  const auto document = [&bounds](int64_t token) {
    return bounds.numel() == 0 ? 0 : bounds.le(token).sum().item<int64_t>();
  };
  std::vector<at::Tensor> rows;
  for (int64_t t = 0; t < num_queries; ++t) {
    const int64_t position = t + num_keys - num_queries;
    std::vector<int64_t> visible;
    for (int64_t j = 0; j < num_keys; ++j) {
      const int64_t distance = position - j;
      const int64_t reach = is_causal ? distance : std::abs(distance);
      if (document(j) != document(t) && num_queries == num_keys) continue;
      if (is_causal && distance < 0) continue;
      if (window > 0 && reach >= window) continue;
      visible.push_back(j);
    }
    const at::Tensor index = at::tensor(visible, at::kLong);
    std::vector<at::Tensor> heads;
    for (int64_t n = 0; n < in[0].size(1); ++n) {
      const at::Tensor keys = in[1].select(1, n / group).index_select(0, index);
      const at::Tensor values =
          in[2].select(1, n / group).index_select(0, index);
      at::Tensor scores = at::mv(keys, in[0][t][n]) * scale;
      if (cap != 0) scores = (scores / cap).tanh() * cap;
      heads.push_back(at::mv(values.t(), scores.softmax(0)));
    }
    rows.push_back(at::stack(heads));
  }
  if (rows.empty()) {
    const at::Tensor nothing = in[0].sum() + in[1].sum() + in[2].sum();
    return {nothing.expand({0, in[0].size(1), in[2].size(2)})};
  }
  return {at::stack(rows)};
}

at::Tensor weighted_loss(const at::Tensor& logits,
                         const at::Tensor& labels,
                         const at::Tensor& weight) {
  at::Tensor sum = at::zeros({}, at::kDouble) + 0 * logits.sum();
  for (int64_t t = 0; t < labels.numel(); ++t) {
    const int64_t label = labels[t].item<int64_t>();
    if (label == -100) continue;
    const at::Tensor loss = -logits[t].log_softmax(0)[label];
    sum = sum + (weight.defined() ? weight[t].to(at::kDouble) * loss : loss);
  }
  return sum;
}

Tensors cross_entropy_formula(const Attributes&, const Tensors& in) {
  return {weighted_loss(in[0], in[1], in[2])};
}

Tensors fused_formula(const Attributes& attributes, const Tensors& in) {
  at::Tensor logits =
      linear(in[0], in[1], in[2]) * attributes.get_double("logit_scale");
  const double cap = attributes.get_double("logit_cap");
  if (cap != 0) logits = (logits / cap).tanh() * cap;
  return {weighted_loss(logits, in[3], in[4])};
}

Tensors adamw_formula(const Attributes& attributes, const Tensors& in) {
  const double beta1 = attributes.get_double("beta1");
  const double beta2 = attributes.get_double("beta2");
  const double lr = in[4].item<double>();
  const double step = in[5].item<double>();
  const at::Tensor mean = beta1 * in[2] + (1 - beta1) * in[1];
  const at::Tensor square = beta2 * in[3] + (1 - beta2) * in[1] * in[1];
  const at::Tensor update = mean / (1 - std::pow(beta1, step)) /
                            (at::sqrt(square / (1 - std::pow(beta2, step))) +
                             attributes.get_double("eps"));
  return {
      in[0] * (1 - lr * attributes.get_double("weight_decay")) - lr * update,
      mean,
      square};
}

/// First token of t's document.
int64_t document_start(const at::Tensor& bounds, int64_t t) {
  if (!bounds.defined()) return 0;
  return bounds.masked_select(bounds.le(t)).max().item<int64_t>();
}

/// Token by token, tap by tap.
Tensors causal_conv1d_formula(const Attributes& attributes, const Tensors& in) {
  const int64_t num_taps = in[3].size(2);
  const int64_t num_past = in[2].defined() ? in[2].size(0) : 0;
  std::vector<at::Tensor> rows;
  for (int64_t t = 0; t < in[0].size(0); ++t) {
    at::Tensor sum = in[4].defined() ? in[4] : at::zeros_like(in[0][t]);
    for (int64_t j = 0; j < num_taps; ++j) {
      const int64_t from = t - num_taps + 1 + j;
      const at::Tensor tap = in[3].select(2, j).squeeze(1);
      if (from >= document_start(in[1], t))
        sum = sum + tap * in[0][from];
      else if (from < 0 && from + num_past >= 0)
        sum = sum + tap * in[2][from + num_past];
    }
    const bool is_silu = attributes.get_string("activation") == "silu";
    rows.push_back(is_silu ? sum / (1 + at::exp(-sum)) : sum);
  }
  if (rows.empty()) return {in[0] + 0 * (in[3].sum() + in[4].sum())};
  return {at::stack(rows)};
}

/// The recurrence, token by token and head by head.
struct DeltaRule {
  const Attributes& attributes;
  const Tensors& in;

  int64_t num_heads() const { return in[2].size(1); }
  at::Tensor unit(const at::Tensor& x) const {
    const double eps = attributes.get_double("qk_norm_eps");
    return eps == 0 ? x : x / at::sqrt((x * x).sum() + eps);
  }
  at::Tensor first_state(int64_t document, int64_t n) const {
    if (in[6].defined()) return in[6][document][n];
    return at::zeros({in[0].size(2), in[2].size(2)}, at::kDouble);
  }
  /// Takes the state one token on; returns the output.
  at::Tensor step(at::Tensor& state, int64_t t, int64_t n) const {
    const int64_t m = n / (num_heads() / in[0].size(1));
    double scale = attributes.get_double("scale");
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(in[0].size(2)));
    const at::Tensor key = unit(in[1][t][m]);
    state = in[3][t][n].exp() * state;
    const at::Tensor wrong = in[2][t][n] - at::mv(state.t(), key);
    state = state + in[4][t][n] * at::outer(key, wrong);
    return at::mv(state.t(), unit(in[0][t][m]) * scale);
  }
};

Tensors gated_delta_rule_formula(const Attributes& attributes,
                                 const Tensors& in) {
  const DeltaRule rule{attributes, in};
  const int64_t num_tokens = in[0].size(0);
  const at::Tensor bounds =
      in[5].defined() ? in[5] : at::tensor({int64_t{0}, num_tokens});
  std::vector<at::Tensor> rows, finals;
  for (int64_t document = 0; document + 1 < bounds.numel(); ++document) {
    std::vector<at::Tensor> states;
    for (int64_t n = 0; n < rule.num_heads(); ++n)
      states.push_back(rule.first_state(document, n));
    for (int64_t t = bounds[document].item<int64_t>();
         t < bounds[document + 1].item<int64_t>();
         ++t) {
      std::vector<at::Tensor> heads;
      for (int64_t n = 0; n < rule.num_heads(); ++n)
        heads.push_back(rule.step(states[n], t, n));
      rows.push_back(at::stack(heads));
    }
    finals.push_back(at::stack(states));
  }
  const at::Tensor nothing =
      0 * (in[0].sum() + in[1].sum() + in[2].sum() + in[3].sum() + in[4].sum());
  const at::Tensor final_state =
      in[6].defined()
          ? at::stack(finals)
          : nothing.expand({0, in[2].size(1), in[0].size(2), in[2].size(2)});
  return {rows.empty() ? in[2] + nothing : at::stack(rows), final_state};
}

}  // namespace

Tensors formula(const OpSpec& spec,
                const Attributes& attributes,
                const Tensors& inputs) {
  const std::string name = spec.name();
  if (const Formula of_experts = moe_formula(name); of_experts != nullptr)
    return of_experts(attributes, inputs);
  if (name == "rope_complex") return rope_formula(attributes, inputs, true);
  if (name == "rope_cos_sin") return rope_formula(attributes, inputs, false);
  static const std::map<std::string,
                        Tensors (*)(const Attributes&, const Tensors&)>
      formulas = {{"activation", activation_formula},
                  {"adamw", adamw_formula},
                  {"attention", attention_formula},
                  {"causal_conv1d", causal_conv1d_formula},
                  {"cross_entropy", cross_entropy_formula},
                  {"embedding", embedding_formula},
                  {"fused_linear_cross_entropy", fused_formula},
                  {"gated_delta_rule", gated_delta_rule_formula},
                  {"layer_norm", layer_norm_formula},
                  {"linear", linear_formula},
                  {"rms_norm", rms_norm_formula},
                  {"swiglu", swiglu_formula}};
  return formulas.at(name)(attributes, inputs);
}

}  // namespace titan::op::test

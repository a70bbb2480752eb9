// SPDX-License-Identifier: BSD-3-Clause
// Key rules, by a layout (layouts.h) and what the option hf.keys adds to it;
// with layout "titan" names are ours unless hf.keys has others.
#include <map>
#include <sstream>
#include <string>

#include "plugins/models/gpt/layouts.h"
#include "plugins/models/gpt/model.h"

namespace titan::gpt {
namespace {

using Names = std::map<std::string, std::string>;  // ours -> theirs | how

/// "x.*" stands for x.weight and x.bias; a bias has no dims to transpose.
void add_names(Names& names, const Json& given) {
  for (const auto& [ours, theirs] : given.members()) {
    if (!ours.ends_with(".*")) {
      names[ours] = theirs.str();
      continue;
    }
    for (const std::string tensor : {"weight", "bias"}) {
      std::string filled = theirs.str();
      if (const size_t star = filled.find('*'); star != std::string::npos)
        filled.replace(star, 1, tensor);
      const size_t turned = filled.find(" | transposed");
      if (tensor == "bias" && turned != std::string::npos)
        filled.erase(turned, std::string_view(" | transposed").size());
      names[ours.substr(0, ours.size() - 1) + tensor] = filled;
    }
  }
}

std::string trimmed(const std::string& given) {
  const size_t first = given.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return given.substr(first, given.find_last_not_of(' ') - first + 1);
}

/// Reads "transposed", "part P of N", "part P of N per head", "rows B of W".
void read_how(const std::string& how, int64_t num_heads, KeyRule& rule) {
  std::istringstream words(how);
  std::string kind, of, per, head, more;
  words >> kind;
  if (kind == "transposed") {
    rule.is_transposed = true;
  } else if (kind == "part" || kind == "rows") {
    words >> rule.arg0 >> of >> rule.arg1;
    rule.transform = kind == "part" ? TITAN_KEY_SPLIT : TITAN_KEY_SLICE;
    const bool is_read = static_cast<bool>(words) && of == "of" &&
                         rule.arg0 >= 0 && rule.arg0 < rule.arg1;
    if (!is_read) kind.clear();
    if (is_read && kind == "part" && words >> per) {
      words >> head;
      if (per != "per" || head != "head") kind.clear();
      rule.num_groups = num_heads;
    }
  } else {
    kind.clear();
  }
  TITAN_USER_CHECK(!kind.empty() && !(words >> more),
                   "[model.hf.keys] ",
                   rule.native,
                   ": expected \"transposed\", \"part P of N\", \"part P of N "
                   "per head\" or \"rows B of W\", got \"",
                   how,
                   '"');
}

/// The numbers that a pattern leaves open, by their letters.
std::string open_numbers(const std::string& pattern) {
  std::string letters;
  for (size_t at = pattern.find_first_of("{}"); at != std::string::npos;
       at = pattern.find_first_of("{}", at + 3)) {
    const std::string field = pattern.substr(at, 3);
    TITAN_USER_CHECK(field == "{i}" || field == "{e}",
                     "[model.hf.keys] ",
                     pattern,
                     ": expected {i} for a number, {e} for an expert's, got ",
                     field);
    letters += field[1];
  }
  return letters;
}

void add_rule(Keys& keys,
              const std::string& ours,
              const std::string& theirs,
              int64_t num_heads) {
  std::istringstream parts(theirs);
  std::string name, how;
  std::getline(parts, name, '|');
  name = trimmed(name);
  const std::string numbers = open_numbers(ours);
  std::string their_numbers = open_numbers(name);
  std::erase(their_numbers, 'e');
  TITAN_USER_CHECK(numbers == their_numbers,
                   "[model.hf.keys] ",
                   ours,
                   ": expected {i} on both sides or on none, got ",
                   name);
  KeyRule rule{.native = ours, .hf = name};
  if (name.find("{e}") != std::string::npos) rule.transform = TITAN_KEY_STACK;
  while (std::getline(parts, how, '|')) read_how(trimmed(how), num_heads, rule);
  keys.add(rule);
}

/// Our own names, where no rule has another.
void add_own_names(Names& names) {
  const std::string block = "layers.{i}.";
  for (const char* leaf : {"attention_norm",
                           "attention_post_norm",
                           "ffn_norm",
                           "ffn_post_norm",
                           "attention.qkv_linear.wq",
                           "attention.qkv_linear.wk",
                           "attention.qkv_linear.wv",
                           "attention.wo",
                           "attention.q_norm",
                           "attention.k_norm",
                           "attention.wq",
                           "attention.wq_a",
                           "attention.wq_b",
                           "attention.wkv_a",
                           "attention.kv_norm",
                           "attention.wkv_b",
                           "feed_forward.w1",
                           "feed_forward.w2",
                           "feed_forward.w3",
                           "moe.router.gate",
                           "moe.shared_experts.w1",
                           "moe.shared_experts.w2",
                           "moe.shared_experts.w3",
                           "moe.shared_experts.gate"})
    for (const char* tensor : {".weight", ".bias"})
      names.emplace(block + leaf + tensor, block + leaf + tensor);
  for (const char* whole : {"w1_EFD", "w2_EDF", "w3_EFD"}) {
    const std::string name =
        block + "moe.routed_experts.inner_experts." + whole;
    names.emplace(name, name);
  }
  for (const char* name : {"embedding.tokens.weight",
                           "embedding.positions.weight",
                           "norm.weight",
                           "norm.bias",
                           "lm_head.weight",
                           "lm_head.bias"})
    names.emplace(name, name);
  names.emplace(block + "moe.expert_bias_E", block + "moe.expert_bias_E");
}

}  // namespace

void Gpt::describe_keys(Keys& keys) const {
  Names names;
  Json ignored = config_.json.at("hf").at("ignore");
  if (config_.layout != kOwnLayout) {
    const Json layout = layout_named(config_.layout);
    add_names(names, layout.at("keys"));
    for (const Json& name : layout.at("ignore").items())
      ignored.push_back(name);
  }
  add_names(names, config_.json.at("hf").at("keys"));
  if (config_.layout == kOwnLayout) add_own_names(names);
  if (config_.tie_embeddings) {
    // Some tied checkpoints store the head a second time.
    keys.ignore(names.at("lm_head.weight"));
    names.erase("lm_head.weight");
  }
  for (const auto& [ours, theirs] : names)
    add_rule(keys, ours, theirs, config_.num_heads);
  for (const Json& name : ignored.items()) keys.ignore(name.str());
}

}  // namespace titan::gpt

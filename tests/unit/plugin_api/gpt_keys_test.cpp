// SPDX-License-Identifier: BSD-3-Clause
// What titan.gpt makes of hf.keys, and the rules that it refuses.
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace gpt_keys_test {
namespace {

using symbolic::with;

const symbolic::ModelPlugin& plugin() {
  static const symbolic::ModelPlugin loaded("plugins/libtitan_gpt.so");
  return loaded;
}

struct Model : symbolic::BuiltModel {
  explicit Model(const std::string& json) : BuiltModel(plugin(), json) {}
};

const std::string kTiny =
    R"({"dim":8,"num_layers":2,"num_heads":2,"hidden_dim":16,"vocab_size":32,)"
    R"("max_position":16})";

// What the plugin says to these options; "none" when it takes them.
std::string refusal(const std::string& options) {
  try {
    Model(with(kTiny, options));
  } catch (const titan::UserError& error) {
    return error.what();
  }
  return "none";
}

using Rules = std::vector<std::pair<std::string, std::string>>;

/// The option hf with these keys.
std::string keys(const Rules& rules, const std::string& layout = "titan") {
  titan::Json map = titan::Json::object();
  for (const auto& [ours, theirs] : rules) map[ours] = theirs;
  return R"("hf":{"layout":")" + layout + R"(","keys":)" + map.dump() + "}";
}

}  // namespace

TEST_CASE("gpt refuses key rules that it cannot read", "[unit]") {
  using Catch::Contains;
  CHECK_THAT(refusal(R"("hf":{"keys":{"norm.weight":"n | turned"}})"),
             Contains("[model.hf.keys] norm.weight: expected \"transposed\"") &&
                 Contains("got \"turned\""));
  CHECK_THAT(refusal(R"("hf":{"keys":{"norm.weight":"n | part 3 of 3"}})"),
             Contains("[model.hf.keys] norm.weight"));
  for (const char* theirs : {"n.{i", "n.{j}", "n.{i}"}) {
    INFO(theirs);
    CHECK_THAT(refusal(R"("hf":{"keys":{"norm.weight":")" +
                       std::string(theirs) + R"("}})"),
               Contains("[model.hf.keys] n") && Contains("expected {i}"));
  }
}

TEST_CASE("gpt refuses key rules of one transform too many", "[unit]") {
  using Catch::Contains;
  const std::string wq = "layers.{i}.attention.qkv_linear.wq.weight";
  for (const std::string how : {"transposed | transposed",
                                "part 0 of 2 | part 1 of 2",
                                "part 0 of 2 | rows 0 of 24",
                                "rows 0 of 24 | transposed | rows 8 of 24"}) {
    INFO(how);
    CHECK_THAT(refusal(keys({{wq, "h.{i}.q | " + how}})),
               Contains("[model.hf.keys] " + wq +
                        ": expected \"transposed\" "
                        "once at most") &&
                   Contains("got a second with"));
  }
  const std::string experts = R"(,"moe":{"num_experts":2,"dense_layers":[0]})";
  CHECK_THAT(
      refusal(keys({{"layers.{i}.moe.routed_experts.inner_experts.w1_EFD",
                     "h.{i}.experts.{e}.w | part 0 of 2"}}) +
              experts),
      Contains("one of {e}, \"part\" and \"rows\", got a second with"));
}

TEST_CASE("gpt refuses key rules that fit no parameter", "[unit]") {
  using Catch::Contains;
  for (const std::string ours : {"layers.{i}.attention.wq_a.weight",
                                 "layers.{i}.moe.router.gate.*",
                                 "layers.{i}.attention.wo.bias",
                                 "layers.2.ffn_norm.weight",
                                 "embedding.positions.weight",
                                 "norm.bias",
                                 "nrom.*"}) {
    INFO(ours);
    const std::string star = ours.back() == '*' ? ".*" : "";
    const std::string theirs =
        (ours.find("{i}") != std::string::npos ? "h.{i}.x" : "x") + star;
    CHECK_THAT(refusal(keys({{ours, theirs}})),
               Contains("[model.hf.keys] " + ours +
                        ": expected a parameter of this network"));
  }
  CHECK_THAT(refusal(keys({{"norm.weight", "n | transposed"}})),
             Contains("[model.hf.keys] norm.weight: expected \"transposed\" of "
                      "a matrix only, got it of a vector"));
  CHECK_THAT(
      refusal(keys({{"layers.{i}.feed_forward.w1.weight", "h.{i}.{e}.w"}})),
      Contains("[model.hf.keys] layers.0.feed_forward.w1.weight: "
               "expected {e} where experts are stacked only"));
  CHECK_THAT(refusal(keys({{"norm.*", "n"}})),
             Contains("[model.hf.keys] norm.*: expected .* on both sides"));
  CHECK_THAT(refusal(keys({{"norm.weight", " | transposed"}})),
             Contains("[model.hf.keys] norm.weight: expected a name"));
}

TEST_CASE("gpt's key rules give each of their tensors whole and once",
          "[unit]") {
  using Catch::Contains;
  const std::string qkv = "layers.{i}.attention.qkv_linear.";
  const auto fused =
      [&](const std::string& q, const std::string& k, const std::string& v) {
        return refusal(keys({{qkv + "wq.weight", "h.{i}.qkv | " + q},
                             {qkv + "wk.weight", "h.{i}.qkv | " + k},
                             {qkv + "wv.weight", "h.{i}.qkv | " + v}}));
      };
  CHECK(fused("part 0 of 3", "part 1 of 3", "part 2 of 3") == "none");
  CHECK(fused("rows 0 of 24", "rows 8 of 24", "rows 16 of 24") == "none");
  CHECK_THAT(fused("part 0 of 3", "part 1 of 3", "part 1 of 3"),
             Contains("[model.hf.keys] h.0.qkv: expected rules that give all "
                      "of it once, 3 parts, got one after the other up to 2"));
  CHECK_THAT(
      fused("rows 0 of 24", "rows 8 of 24", "rows 12 of 24"),
      Contains("h.0.qkv") && Contains("24 rows, got") && Contains("up to 16"));
  CHECK_THAT(fused("part 0 of 3", "part 1 of 3", "part 2 of 4"),
             Contains("expected a name of its own, or parts cut alike"));
  CHECK_THAT(fused("part 0 of 3", "part 1 of 3", "rows 16 of 24"),
             Contains("expected a name of its own, or parts cut alike"));
  CHECK_THAT(refusal(R"("num_kv_heads":1,)" +
                     keys({{qkv + "wq.weight", "h.{i}.qkv | part 0 of 3"},
                           {qkv + "wk.weight", "h.{i}.qkv | part 1 of 3"},
                           {qkv + "wv.weight", "h.{i}.qkv | part 2 of 3"}})),
             Contains("expected parts of equal size, 8 rows as") &&
                 Contains("Say \"rows B of W\" instead"));

  CHECK_THAT(refusal(keys({{"norm.weight", "n"}, {"lm_head.weight", "n"}})),
             Contains("[model.hf.keys] norm.weight: expected a name of its "
                      "own, or parts cut alike, got n, which lm_head.weight "
                      "has"));
  // One that a layout gives, and a number that is one of {i}'s.
  CHECK_THAT(
      refusal(keys({{"norm.weight", "model.embed_tokens.weight"}}, "llama")),
      Contains("got model.embed_tokens.weight, which "
               "embedding.tokens.weight has"));
  CHECK_THAT(refusal(keys({{"layers.{i}.ffn_norm.weight", "h.{i}.n"},
                           {"norm.weight", "h.1.n"}})),
             Contains("got h.1.n, which layers.1.ffn_norm.weight has"));
  CHECK_THAT(refusal(keys({{"layers.{i}.ffn_norm.weight", "h.{i}.n"},
                           {"layers.0.ffn_norm.weight", "first"}})),
             Contains("[model.hf.keys] layers.0.ffn_norm.weight: expected one "
                      "rule, got layers.0.ffn_norm.weight and "
                      "layers.{i}.ffn_norm.weight"));
}

TEST_CASE("gpt's key rules are of the parameters that its options make",
          "[unit]") {
  for (const std::string options :
       {R"("positions":{"kind":"learned","offset":2},)"
        R"("norm":{"kind":"layer","bias":true,"place":"both","final":false},)"
        R"("feed_forward":{"gated":false},"bias":{"qkv":true,"output":true,)"
        R"("feed_forward":true,"head":true})",
        R"("block":"parallel_one_norm","norm":{"weight":false},)"
        R"("attention":{"qk_norm":"head"})",
        R"("block":"parallel","num_kv_heads":1,)"
        R"("attention":{"qk_norm":"width"})",
        R"("latent":{"kv_dim":4,"turned_dim":2},)"
        R"("bias":{"qkv":true,"output":true})",
        R"("latent":{"kv_dim":4,"q_dim":6,"turned_dim":2},)"
        R"("moe":{"num_experts":4,"gate_bias":true,"shared_hidden_dim":4,)"
        R"("shared_gate":true,"load_balance_coeff":0.1,"dense_layers":[1]})"}) {
    INFO(options);
    const Model model(with(kTiny, options));
    model.check_key_rules();
    std::set<std::string> names;
    for (const auto& parameter : model.tree.parameters)
      names.insert(parameter->fqn);
    for (const auto& buffer : model.tree.buffers) names.insert(*buffer);
    for (const auto& [ours, rule] : model.key_rules()) {
      INFO(ours);
      bool is_made = false;
      for (const char* layer : {"0", "1"}) {
        std::string name = ours;
        if (const size_t at = name.find("{i}"); at != std::string::npos)
          name.replace(at, 3, layer);
        is_made = is_made || names.count(name) != 0;
      }
      CHECK(is_made);
    }
  }
}

TEST_CASE("gpt's rule for one block leaves the others their names", "[unit]") {
  const Model model(with(kTiny, keys({{"layers.0.ffn_norm.weight", "first"}})));
  const auto rules = model.key_rules();
  CHECK(rules.at("layers.0.ffn_norm.weight").hf == "first");
  CHECK(rules.at("layers.1.ffn_norm.weight").hf == "layers.1.ffn_norm.weight");
  CHECK(rules.count("layers.{i}.ffn_norm.weight") == 0);
}

TEST_CASE("gpt's own names hold where no rule has another", "[unit]") {
  const Model model(with(
      kTiny,
      R"("moe":{"num_experts":3,"shared_hidden_dim":4,"dense_layers":[1]})"));
  model.check_key_rules();
  CHECK(model.key_rules()
            .at("layers.{i}.moe.routed_experts.inner_experts.w1_EFD")
            .hf == "layers.{i}.moe.routed_experts.inner_experts.w1_EFD");
  const Model named(
      with(kTiny, R"("hf":{"keys":{"norm.weight":"model.norm.weight"}})"));
  CHECK(named.key_rules().at("norm.weight").hf == "model.norm.weight");
  CHECK(named.key_rules().at("lm_head.weight").hf == "lm_head.weight");
}

}  // namespace gpt_keys_test

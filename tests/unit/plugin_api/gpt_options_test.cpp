// SPDX-License-Identifier: BSD-3-Clause
// Options of titan.gpt that are refused: nothing reads them, or they contradict
// each other.
#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace gpt_options_test {
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
std::string refusal(const std::string& options,
                    const std::string& sizes = kTiny) {
  try {
    Model(with(sizes, options));
  } catch (const titan::UserError& error) {
    return error.what();
  }
  return "none";
}

const std::string kLatent = R"("latent":{"kv_dim":4,"turned_dim":2},)";
const std::string kLearned = R"("positions":{"kind":"learned"},)";

}  // namespace

TEST_CASE("gpt refuses options that nothing reads", "[unit]") {
  struct Idle {
    std::string option, otherwise, options;
  };
  const Idle idle[] = {
      {"num_kv_heads", "with latent", kLatent + R"("num_kv_heads":1)"},
      {"head_dim", "with latent", kLatent + R"("head_dim":4)"},
      {"hidden_dim", "where every block has", R"("moe":{"num_experts":4})"},
      {"norm.kind", "on the norms of", kLatent + R"("norm":{"kind":"layer"})"},
      {"norm.weight",
       "on the norms of",
       kLatent + R"("norm":{"weight":false})"},
      {"norm.bias", "without norm.kind layer", R"("norm":{"bias":true})"},
      {"norm.unit_offset",
       "on the norms of",
       kLatent + R"("norm":{"unit_offset":true})"},
      {"norm.unit_offset",
       "with norm.kind layer",
       R"("norm":{"kind":"layer","unit_offset":true})"},
      {"norm.unit_offset",
       "without norm.weight",
       R"("norm":{"weight":false,"unit_offset":true})"},
      {"positions.kind",
       "with latent",
       kLatent + R"("positions":{"kind":"none"})"},
      {"positions.offset",
       "without positions.kind",
       R"("positions":{"offset":2})"},
      {"attention.scale_dim",
       "beside attention.scale",
       R"("attention":{"scale":0.5,"scale_dim":4})"},
      {"attention.logit_cap",
       "with latent",
       kLatent + R"("attention":{"logit_cap":5})"},
      {"attention.qk_norm",
       "with latent",
       kLatent + R"("attention":{"qk_norm":"head"})"},
      {"attention.window",
       "with latent",
       kLatent + R"("attention":{"window":3})"},
      {"attention.window",
       "without a block that slides",
       R"("attention":{"window":3,"layer_types":["full_attention"]})"},
      {"attention.layer_types",
       "with latent",
       kLatent + R"("attention":{"layer_types":["full_attention"]})"},
      {"latent.q_dim", "without latent.kv_dim", R"("latent":{"q_dim":4})"},
      {"latent.plain_dim",
       "without latent.kv_dim",
       R"("latent":{"plain_dim":4})"},
      {"latent.turned_dim",
       "without latent.kv_dim",
       R"("latent":{"turned_dim":4})"},
      {"latent.value_dim",
       "without latent.kv_dim",
       R"("latent":{"value_dim":4})"},
      {"feed_forward.activation",
       "where every block has",
       R"("hidden_dim":null,"moe":{"num_experts":4},)"
       R"("feed_forward":{"activation":"gelu"})"},
      {"feed_forward.gated",
       "where every block has",
       R"("hidden_dim":null,"moe":{"num_experts":4},)"
       R"("feed_forward":{"gated":false})"},
      {"bias.feed_forward",
       "where every block has",
       R"("hidden_dim":null,"moe":{"num_experts":4},)"
       R"("bias":{"feed_forward":true})"},
      {"moe.dense_layers",
       "without a block of experts",
       R"("moe":{"num_experts":4,"dense_layers":[0,1]})"},
      {"moe.top_k", "without a block of experts", R"("moe":{"top_k":1})"},
      {"moe.hidden_dim", "without a block of", R"("moe":{"hidden_dim":8})"},
      {"moe.score", "without a block of", R"("moe":{"score":"sigmoid"})"},
      {"moe.normalise", "without a block of", R"("moe":{"normalise":false})"},
      {"moe.scale", "without a block of", R"("moe":{"scale":2})"},
      {"moe.gate_bias", "without a block of", R"("moe":{"gate_bias":true})"},
      {"moe.num_groups", "without a block of", R"("moe":{"num_groups":2})"},
      {"moe.shared_hidden_dim",
       "without a block of",
       R"("moe":{"shared_hidden_dim":8})"},
      {"moe.dense_layers",
       "without a block of",
       R"("moe":{"dense_layers":[1]})"},
      {"moe.load_balance_coeff",
       "without a block of",
       R"("moe":{"load_balance_coeff":0.1})"},
      {"moe.balance_loss_coeff",
       "without a block of",
       R"("moe":{"balance_loss_coeff":0.1})"},
      {"moe.num_limited_groups",
       "with one group",
       R"("hidden_dim":null,"moe":{"num_experts":4,"num_limited_groups":2})"},
      {"moe.group_top",
       "with one group",
       R"("hidden_dim":null,"moe":{"num_experts":4,"group_top":1})"},
      {"moe.shared_gate",
       "without moe.shared_hidden_dim",
       R"("hidden_dim":null,"moe":{"num_experts":4,"shared_gate":true})"},
      {"rope.pairs",
       "without positions.kind rope",
       kLearned + R"("rope":{"pairs":"adjacent"})"},
      {"rope.theta",
       "without positions.kind",
       kLearned + R"("rope":{"theta":5})"},
      {"rope.scaling.type",
       "without positions.kind rope",
       kLearned + R"("rope":{"scaling":{"type":"yarn","factor":8}})"},
      {"rope.fraction", "with latent", kLatent + R"("rope":{"fraction":0.5})"},
      {"rope.sliding_theta",
       "without a block that slides",
       R"("rope":{"sliding_theta":5})"},
      {"rope.theta",
       "where every block slides",
       R"("attention":{"window":3},"rope":{"sliding_theta":5,"theta":7})"},
      {"rope.scaling.type",
       "where every block slides",
       R"("attention":{"window":3},)"
       R"("rope":{"sliding_theta":5,"scaling":{"type":"linear"}})"},
  };
  for (const Idle& row : idle) {
    INFO(row.options);
    std::string sizes = kTiny;
    if (row.options.find("hidden_dim\":null") != std::string::npos)
      sizes.erase(sizes.find(R"("hidden_dim":16,)"), 16);
    CHECK_THAT(refusal(row.options, sizes),
               Catch::Contains("[model." + row.option + "] has no effect " +
                               row.otherwise) &&
                   Catch::Contains(": expected its default "));
  }
}

TEST_CASE("every family refuses parts of rope.scaling of another type",
          "[unit]") {
  const std::string own[] = {"titan_gpt",
                             "titan_llama3",
                             "titan_qwen3",
                             "titan_qwen3_5",
                             "titan_deepseek_v3"};
  for (const std::string& library : own) {
    const symbolic::ModelPlugin family("plugins/lib" + library + ".so");
    const auto check = [&](const std::string& option,
                           const std::string& type,
                           const std::string& otherwise) {
      const std::string name = option.substr(0, option.find('"', 1) + 1);
      INFO(library << ' ' << option << ' ' << type);
      CHECK_THROWS_WITH(
          symbolic::BuiltModel(family,
                               R"({"rope":{"scaling":{"type":")" + type +
                                   "\"," + option + "}}}"),
          Catch::Contains("[model.rope.scaling." +
                          name.substr(1, name.size() - 2) +
                          "] has no effect without rope.scaling.type" +
                          otherwise + ": expected"));
    };
    check(R"("factor":3)", "none", "");
    check(R"("original_max_position":3)", "linear", " llama or yarn");
    check(R"("low_freq_factor":0.5)", "yarn", " llama");
    check(R"("high_freq_factor":5)", "linear", " llama");
    check(R"("beta_fast":5)", "llama", " yarn");
    check(R"("beta_slow":2)", "linear", " yarn");
    check(R"("truncate":false)", "linear", " yarn");
    check(R"("attention_factor":5)", "none", " yarn");
    if (library != "titan_deepseek_v3") continue;
    check(R"("mscale":0.7)", "linear", " yarn");
    check(R"("mscale_all_dim":0.7)", "linear", " yarn");
  }
}

TEST_CASE("gpt takes options that something reads, and defaults", "[unit]") {
  for (const std::string& options :
       {kLatent + R"("attention":{"scale_dim":3},"norm":{"eps":1e-6})",
        kLearned + R"("rope":{"theta":10000.0})",
        std::string(R"("moe":{"num_experts":4,"num_groups":2,"group_top":1,)"
                    R"("num_limited_groups":2,"dense_layers":[0]})"),
        std::string(R"("latent":{"q_dim":0,"plain_dim":128},)"
                    R"("moe":{"num_experts":0,"top_k":2,"dense_layers":[]})"),
        std::string(R"("attention":{"window":3,"layer_types":)"
                    R"(["full_attention","sliding_attention"]},)"
                    R"("rope":{"sliding_theta":5,"theta":7})")}) {
    INFO(options);
    CHECK(refusal(options) == "none");
  }
}

TEST_CASE("gpt refuses options that contradict each other", "[unit]") {
  using Catch::Contains;
  CHECK_THAT(refusal(R"("block":"parallel","norm":{"place":"post"})"),
             Contains("[model.block] parallel blocks"));
  CHECK_THAT(refusal(R"("rope":{"fraction":0.3})"),
             Contains("[model.rope.fraction]"));
  CHECK_THAT(refusal(R"("num_kv_heads":3)"), Contains("[model.num_kv_heads]"));
  CHECK_THAT(refusal(R"("moe":{"num_experts":1})"),
             Contains("[model.moe.top_k]"));
  CHECK_THAT(refusal(R"("moe":{"num_experts":4,"num_groups":4,"top_k":1})"),
             Contains("[model.moe.group_top] expected at most the 1 experts"));
  CHECK_THAT(refusal(kLatent + R"("bias":{"qkv":true})"),
             Contains("[model.bias.output] latent attention"));
  CHECK_THAT(refusal(R"("hf":{"layout":"gpt2"})"),
             Contains("hf.layout gpt2 does not have it: expected"));
  const std::string plain =
      R"({"dim":8,"num_layers":2,"num_heads":2,"vocab_size":32})";
  CHECK_THAT(refusal(R"("hf":{"layout":"mixtral"})", plain),
             Contains("[model.moe.num_experts] hf.layout mixtral") &&
                 Contains("expected at least 1, got 0"));
  CHECK_THAT(refusal(R"("moe":{"num_experts":4,"load_balance_coeff":0.1},)"
                     R"("hf":{"layout":"mixtral"})",
                     plain),
             Contains("[model.moe.load_balance_coeff] hf.layout mixtral"));
}

}  // namespace gpt_options_test

// SPDX-License-Identifier: BSD-3-Clause
// A model of little more than mixtures of experts, with every part that
// plugins/models/layers/moe.hpp has: groups, bias, balance loss, shared experts
// with their gate. Legend: T tokens, D features.
#include "plugins/models/layers/moe.hpp"

#include <memory>

#include <titan/sdk.hpp>
#include <titan/sdk/plugin.hpp>

namespace titan::moe_toy {
namespace {

constexpr Init kInit = init::normal(0.3);

struct ToyConfig {
  int64_t dim, num_layers, vocab_size;
  layers::MoeConfig moe;

  explicit ToyConfig(const Config& c)
      : dim(c.i64("dim")),
        num_layers(c.i64("num_layers")),
        vocab_size(c.i64("vocab_size")) {
    moe.dim = dim;
    moe.hidden_dim = c.i64("hidden_dim");
    moe.router = {.num_experts = c.i64("num_experts"),
                  .top_k = c.i64("top_k"),
                  .score = c.str("score"),
                  .num_groups = c.i64("num_groups"),
                  .num_limited_groups = c.i64("num_limited_groups"),
                  .normalise = true,
                  .scale = 1.5,
                  .has_gate_bias = true};
    moe.shared_hidden_dim = c.i64("shared_hidden_dim");
    moe.has_shared_gate = true;
    if (c.has("load_balance_coeff"))
      moe.load_balance_coeff = c.f64("load_balance_coeff");
    moe.balance_loss_coeff = c.f64("balance_loss_coeff");
  }
};

class Block : public Module<Block> {
 public:
  Block(Build b, const ToyConfig& c)
      : Module(b, "moe_toy.block"),
        norm_(b / "norm", c.dim, {1e-5}),
        moe_(b / "moe",
             c.moe,
             {.gate = kInit,
              .experts = {kInit, kInit, kInit},
              .shared_linear = kInit,
              .shared_depth = kInit}) {}
  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    return x_TD + moe_(ctx, norm_(ctx, x_TD));
  }

 private:
  RMSNorm norm_;
  layers::Moe moe_;
};

class Network {
 public:
  Network(const Build& b, const ToyConfig& c)
      : table(b / "table", {c.vocab_size, c.dim}, kInit),
        layers(b / "layers", c.num_layers, c),
        norm(b / "norm", c.dim, {1e-5}),
        head(b / "head", {c.dim, c.vocab_size}, kInit) {
    const Carry carry = residual(c.dim);
    b.item(table, carry, {.batch = {"tokens"}});
    for (const Block& block : layers) b.item(block, carry);
    b.item(norm, carry);
    b.output(head);
  }

 private:
  Embedding table;
  ModuleList<Block> layers;
  RMSNorm norm;
  Linear head;
};

class MoeToy {
 public:
  static constexpr std::string_view kSchema = R"json({
    "type": "object", "description": "test model", "properties": {
      "dim": {"type": "integer", "default": 8, "description": "features"},
      "num_layers": {"type": "integer", "default": 3, "description": "blocks"},
      "vocab_size": {"type": "integer", "default": 256, "description": "ids"},
      "hidden_dim": {"type": "integer", "default": 12, "description": "of an expert"},
      "num_experts": {"type": "integer", "default": 8, "description": "experts"},
      "top_k": {"type": "integer", "default": 2, "description": "experts per token"},
      "score": {"type": "string", "default": "sigmoid", "description": "of an expert"},
      "num_groups": {"type": "integer", "default": 4, "description": "groups"},
      "num_limited_groups": {"type": "integer", "default": 2, "description": "groups of a token"},
      "shared_hidden_dim": {"type": "integer", "default": 10, "description": "shared experts"},
      "load_balance_coeff": {"type": ["number", "null"], "default": 0.01, "description": "of the bias"},
      "balance_loss_coeff": {"type": "number", "default": 0.1, "description": "of the loss"}}})json";
  static std::span<const Flavor> flavors() { return {}; }

  explicit MoeToy(const Config& config) : config_(config) {}
  void build(Build b) { network_ = std::make_unique<Network>(b, config_); }
  double flops_per_token(int64_t) const { return 1; }

 private:
  ToyConfig config_;
  std::unique_ptr<Network> network_;
};

}  // namespace
}  // namespace titan::moe_toy

TITAN_PLUGIN({.name = "test.moe",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::moe_toy::MoeToy>("test.moe", "For tests"))

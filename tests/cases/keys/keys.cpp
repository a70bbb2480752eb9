// SPDX-License-Identifier: BSD-3-Clause
// A small model whose Hugging Face form needs every kind of key rule at once:
// rows permuted for rope, a tensor shared out, one transposed, experts stacked,
// and a key that is dropped.
// Legend: T tokens, D features, H hidden features, E experts.
#include <memory>
#include <span>

#include <titan/sdk.hpp>
#include <titan/sdk/plugin.hpp>

namespace titan::keys {
namespace {

constexpr Init kInit = init::normal(0.2);
constexpr int64_t kHeadDim = 4;

struct KeysConfig {
  int64_t dim, hidden_dim, num_layers, num_experts, vocab_size;

  explicit KeysConfig(const Config& c)
      : dim(c.i64("dim")),
        hidden_dim(c.i64("hidden_dim")),
        num_layers(c.i64("num_layers")),
        num_experts(c.i64("num_experts")),
        vocab_size(c.i64("vocab_size")) {}
};

class Block : public Module<Block> {
 public:
  Block(Build b, const KeysConfig& c)
      : Module(b, "keys.block"),
        num_experts_(c.num_experts),
        q_(b / "q", {c.dim, c.dim}, kInit),
        gate_(b / "gate", {c.dim, c.hidden_dim}, kInit),
        up_(b / "up", {c.dim, c.hidden_dim}, kInit),
        down_(b / "down", {c.hidden_dim, c.dim}, kInit),
        experts_(b / "experts", {c.num_experts, c.dim, c.dim}, kInit),
        bias_(b / "bias",
              {c.num_experts},
              Dtype::kF32,
              BufferKind::kPersistent),
        uses_(b / "uses", {1}, Dtype::kF32, BufferKind::kPersistent) {
    // More digits than bf16 has.
    bias_.initial<float>(
        std::vector<float>(static_cast<size_t>(c.num_experts), 1.001F));
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    Tensor y_TD = x_TD + q_(ctx, x_TD).tanh();
    const Tensor experts_EDD = experts_(ctx);
    for (int64_t e = 0; e < num_experts_; ++e)
      y_TD = y_TD + matmul(x_TD, experts_EDD.select(0, e)).tanh() *
                        bias_(ctx).select(0, e);
    return y_TD + down_(ctx, gate_(ctx, y_TD).tanh() * up_(ctx, y_TD));
  }

 private:
  int64_t num_experts_;
  Linear q_, gate_, up_, down_;
  Parameter experts_;
  Buffer bias_;  // named by a key rule
  Buffer uses_;  // by none: only checkpoints of ours have it
};

class Network {
 public:
  Network(const Build& b, const KeysConfig& c)
      : embed(b / "embed", {c.vocab_size, c.dim}, kInit),
        layers(b / "layers", c.num_layers, c),
        norm(b / "norm", c.dim, {1e-5}),
        head(b / "head", {c.dim, c.vocab_size}, kInit) {
    const Carry carry = residual(c.dim);
    b.item(embed, carry, {.batch = {"tokens"}});
    for (const Block& block : layers) b.item(block, carry);
    b.item(norm, carry);
    b.output(head);
  }

 private:
  Embedding embed;
  ModuleList<Block> layers;
  RMSNorm norm;
  Linear head;
};

class KeysModel {
 public:
  static constexpr std::string_view kSchema = R"json({
    "type": "object", "description": "test model", "properties": {
      "dim": {"type": "integer", "default": 8, "description": "features"},
      "hidden_dim": {"type": "integer", "default": 12, "description": "inside"},
      "num_layers": {"type": "integer", "default": 2, "description": "blocks"},
      "num_experts": {"type": "integer", "default": 3, "description": "stacked"},
      "vocab_size": {"type": "integer", "default": 256, "description": "ids"}
    }})json";
  static constexpr std::string_view kHfModelTypes[] = {"test_keys"};
  static std::span<const Flavor> flavors() { return {}; }

  explicit KeysModel(const Config& config) : config_(config) {}
  void build(Build b) { network_ = std::make_unique<Network>(b, config_); }
  double flops_per_token(int64_t) const { return 1; }

  static Json config_from_hf(const Json& hf) {
    Json out = Json::object();
    out["dim"] = hf.at("hidden_size");
    out["num_layers"] = hf.at("num_hidden_layers");
    return out;
  }
  Json config_to_hf() const {
    Json out = Json::object();
    out["model_type"] = "test_keys";
    out["hidden_size"] = config_.dim;
    out["num_hidden_layers"] = config_.num_layers;
    return out;
  }
  void describe_keys(Keys& keys) const {
    const std::string native = "layers.{i}.";
    const std::string hf = "model.h.{i}.";
    keys.identity("embed.weight", "model.embed.weight");
    keys.identity("norm.weight", "model.norm.weight");
    keys.identity("head.weight", "head.weight");
    keys.rope_rows(native + "q.weight", hf + "q_proj.weight", kHeadDim);
    keys.split(native + "gate.weight", hf + "gate_up.weight", 0, 2);
    keys.split(native + "up.weight", hf + "gate_up.weight", 1, 2);
    keys.transpose(native + "down.weight", hf + "c_proj.weight");
    keys.stack(native + "experts", hf + "experts.{e}.weight");
    keys.identity(native + "bias", hf + "gate.bias");
    keys.ignore(hf + "inv_freq");
  }

 private:
  KeysConfig config_;
  std::unique_ptr<Network> network_;
};

}  // namespace
}  // namespace titan::keys

TITAN_PLUGIN({.name = "test.keys",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::keys::KeysModel>("test.keys", "For tests"))

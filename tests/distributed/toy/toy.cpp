// SPDX-License-Identifier: BSD-3-Clause
// A small model that asks for everything that llama3 does not: towers with side
// inputs that several items read (one differentiable, one constant), losses of
// its own, and buffers of each kind. With `towers: carry` the same mathematics
// goes through the carry instead: what the towers must equal.
// Legend: T tokens, D features.
#include <memory>
#include <optional>

#include <titan/sdk.hpp>
#include <titan/sdk/plugin.hpp>

namespace titan::toy {
namespace {

constexpr Init kInit = init::normal(0.2);

struct ToyConfig {
  int64_t dim, num_layers, vocab_size;
  std::string towers, losses;
  bool has_buffers;

  explicit ToyConfig(const Config& c)
      : dim(c.i64("dim")),
        num_layers(c.i64("num_layers")),
        vocab_size(c.i64("vocab_size")),
        towers(c.str("towers")),
        losses(c.str("losses")),
        has_buffers(c.flag("buffers")) {}
  bool uses_side_inputs() const { return towers == "side"; }
};

/// features = embedding(tokens), with a constant of them that no gradient may
/// pass.
class Patch : public Module<Patch> {
 public:
  Patch(Build b, const ToyConfig& c)
      : Module(b, "toy.patch"),
        table_(b / "table", {c.vocab_size, c.dim}, kInit) {}
  std::array<Tensor, 2> forward(Context& ctx, const Tensor& tokens_T) const {
    const Tensor x_TD = table_(ctx, tokens_T);
    return {x_TD, x_TD.detach().tanh()};
  }

 private:
  Embedding table_;
};

class Mix : public Module<Mix> {
 public:
  Mix(Build b, const ToyConfig& c)
      : Module(b, "toy.mix"), linear_(b / "linear", {c.dim, c.dim}, kInit) {}
  std::array<Tensor, 2> forward(Context& ctx,
                                const Tensor& x_TD,
                                const Tensor& constant_TD) const {
    return {linear_(ctx, x_TD).tanh(), constant_TD};
  }

 private:
  Linear linear_;
};

/// Statistics of each kind; `scale` is what the last step's make of them.
class Counters : public Module<Counters> {
 public:
  explicit Counters(Build b)
      : Module(b, "toy.counters"),
        sum_(b / "sum", {1}, Dtype::kF64, BufferKind::kStatistic),
        peak_(b / "peak",
              {1},
              Dtype::kF64,
              BufferKind::kStatistic,
              BufferOp::kMax),
        total_(b / "total", {1}, Dtype::kF64, BufferKind::kPersistent),
        bias_(b / "bias",
              {1},
              Dtype::kF64,
              BufferKind::kPersistent,
              BufferOp::kLast),
        step_(b / "step", {1}, Dtype::kF64, BufferKind::kTransient) {
    const std::array<double, 1> step = {0.01};
    step_.initial<double>(step);
  }
  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor square = (x_TD * x_TD).detach().sum().reshape({1});
    sum_.accumulate(ctx, square);
    peak_.accumulate(ctx, x_TD.detach().flatten(0).abs().amax(0, true));
    total_.accumulate(ctx, square * 0 + 1);
    // As DeepSeek moves its expert bias: from what the last step counted.
    bias_.accumulate(ctx, bias_(ctx) + step_(ctx) * sum_(ctx).sign());
    return x_TD * (1 + bias_(ctx) + 1e-4 * (sum_(ctx) + total_(ctx)));
  }

 private:
  Buffer sum_, peak_, total_, bias_, step_;
};

class Block : public Module<Block> {
 public:
  Block(Build b, const ToyConfig& c)
      : Module(b, "toy.block"),
        losses_(c.losses),
        linear_(b / "linear", {c.dim, c.dim}, kInit) {
    if (c.has_buffers) counters_.emplace(b / "counters");
  }
  std::vector<Tensor> forward(Context& ctx,
                              const std::vector<Tensor>& carry) const {
    const bool has_carry = carry.size() == 3;
    const Tensor features_TD =
        has_carry ? carry[1] : ctx.side_input("vision.features");
    const Tensor constant_TD =
        has_carry ? carry[2] : ctx.side_input("vision.constant");
    const Tensor& x_TD = carry[0];
    Tensor h_TD =
        x_TD + (linear_(ctx, x_TD) + features_TD).tanh() * constant_TD;
    if (counters_) h_TD = (*counters_)(ctx, h_TD);
    if (!losses_.empty()) {
      ctx.add_loss("square", (h_TD * h_TD).sum() * 0.01, losses_);
      ctx.add_loss("feature", features_TD.sum() * 0.1, "microbatches");
    }
    if (has_carry) return {h_TD, features_TD, constant_TD};
    return {h_TD};
  }
  int num_outputs() const { return 1; }

 private:
  std::string losses_;
  Linear linear_;
  std::optional<Counters> counters_;
};

/// Puts the tokens' embedding in front of what the towers gave.
class Start : public Module<Start> {
 public:
  Start(Build b, const ToyConfig& c)
      : Module(b, "toy.start"),
        table_(b / "table", {c.vocab_size, c.dim}, kInit) {}
  std::vector<Tensor> forward(Context& ctx,
                              const std::vector<Tensor>& carry) const {
    std::vector<Tensor> out = {table_(ctx, carry.back())};
    out.insert(out.end(), carry.begin(), carry.end() - 1);
    return out;
  }
  int num_outputs() const { return 1; }

 private:
  Embedding table_;
};

/// The first carry tensor is what the head reads.
class Finish : public Module<Finish> {
 public:
  Finish(Build b, const ToyConfig& c)
      : Module(b, "toy.finish"), norm_(b / "norm", c.dim, {1e-5}) {}
  Tensor forward(Context& ctx, const std::vector<Tensor>& carry) const {
    return norm_(ctx, carry[0]);
  }

 private:
  RMSNorm norm_;
};

class Network {
 public:
  Network(const Build& b, const ToyConfig& c)
      : patch(b / "patch", c),
        mix(b / "mix", c),
        start(b / "start", c),
        layers(b / "layers", c.num_layers, c),
        finish(b / "finish", c),
        head(b / "head", {c.dim, c.vocab_size}, kInit) {
    const TensorSpec features{{kTokens, c.dim}, "features"};
    const TensorSpec constant{
        {kDynamic, c.dim}, "constant", Dtype::kCompute, /*flags=*/0};
    const TensorSpec residual{{kTokens, c.dim}, "residual"};
    const bool has_tower = c.uses_side_inputs();
    const Sequence first = has_tower ? b.tower("vision") : b.root_sequence();
    add(first, patch, {features, constant}, {.batch = {"tokens"}});
    add(first, mix, {features, constant}, {});
    const Carry carry =
        has_tower ? Carry{residual} : Carry{residual, features, constant};
    ItemInputs inputs;
    if (has_tower) inputs.side = {"vision.features", "vision.constant"};
    b.item(start, carry, {.batch = {"tokens"}});
    for (const Block& block : layers) b.item(block, carry, inputs);
    b.item(finish, {residual});
    b.output(head);
  }

 private:
  template <typename Item>
  static void add(Sequence sequence,
                  const Item& item,
                  const Carry& carry,
                  const ItemInputs& inputs) {
    sequence.item(item, carry, inputs);
  }

  Patch patch;
  Mix mix;
  Start start;
  ModuleList<Block> layers;
  Finish finish;
  Linear head;
};

class Toy {
 public:
  static constexpr std::string_view kSchema = R"json({
    "type": "object", "description": "test model", "properties": {
      "dim": {"type": "integer", "default": 8, "description": "features"},
      "num_layers": {"type": "integer", "default": 3, "description": "blocks"},
      "vocab_size": {"type": "integer", "default": 256, "description": "ids"},
      "towers": {"type": "string", "enum": ["side", "carry"],
        "default": "side", "description": "how features reach the blocks"},
      "losses": {"type": "string", "default": "",
        "description": "normaliser of the block's loss; none without"},
      "buffers": {"type": "boolean", "default": false,
        "description": "statistics in every block"}}})json";
  static std::span<const Flavor> flavors() { return {}; }

  explicit Toy(const Config& config) : config_(config) {}
  void build(Build b) { network_ = std::make_unique<Network>(b, config_); }
  double flops_per_token(int64_t) const { return 1; }

 private:
  ToyConfig config_;
  std::unique_ptr<Network> network_;
};

}  // namespace
}  // namespace titan::toy

TITAN_PLUGIN({.name = "test.toy",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::toy::Toy>("test.toy", "For tests"))

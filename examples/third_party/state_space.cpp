// SPDX-License-Identifier: BSD-3-Clause
// A small state-space language model: Mamba-2 (arXiv 2405.21060) in its
// attention-like form, without the short convolution. Per head
//   h_t = exp(-step_t a) h_(t-1) + step_t b_t x_t,   y_t = c_t h_t + skip x_t
// written out over all pairs of positions of a document:
//   y = (decay * (c b^T)) (step x),   decay_ts = exp(sum of -step a in (s, t])
// Legend: T, S tokens, D model dim, H heads, P head dim, N state dim.
#include <limits>
#include <optional>

#include <titan/sdk.hpp>

namespace {

using titan::Build;
using titan::Context;
using titan::Tensor;
namespace init = titan::init;

struct Sizes {
  explicit Sizes(const titan::Config& config)
      : dim(config.i64("dim")),
        num_layers(config.i64("num_layers")),
        num_heads(config.i64("num_heads")),
        head_dim(config.i64("head_dim")),
        state_dim(config.i64("state_dim")),
        vocab_size(config.i64("vocab_size")),
        norm_eps(config.f64("norm_eps")) {}

  int64_t inner_dim() const { return num_heads * head_dim; }

  int64_t dim;
  int64_t num_layers;
  int64_t num_heads;
  int64_t head_dim;
  int64_t state_dim;
  int64_t vocab_size;
  double norm_eps;
};

/// True where position t may see position s: earlier, and the same document.
Tensor visible_pairs(Context& ctx, const Tensor& x_TD) {
  const Tensor index_T = titan::arange(x_TD, x_TD.size(0));
  const Tensor doc_T = ctx.batch("doc_id");
  return (index_T.unsqueeze(1) >= index_T.unsqueeze(0)) &
         (doc_T.unsqueeze(1) == doc_T.unsqueeze(0));
}

class Mixer : public titan::Module<Mixer> {
 public:
  Mixer(Build b, const Sizes& c)
      : Module(b, "acme.mixer"),
        head_dim_(c.head_dim),
        value_(b / "value",
               {c.dim, c.inner_dim()},
               init::trunc_normal(0.02),
               titan::column(c.head_dim)),
        gate_(b / "gate",
              {c.dim, c.inner_dim()},
              init::trunc_normal(0.02),
              titan::column(c.head_dim)),
        read_(b / "read", {c.dim, c.state_dim}, init::trunc_normal(0.02)),
        write_(b / "write", {c.dim, c.state_dim}, init::trunc_normal(0.02)),
        step_(b / "step",
              {c.dim, c.num_heads},
              init::trunc_normal(0.02),
              titan::column()),
        // softplus of these is 0.001 to 0.1: memories of 1 to 1000 tokens.
        step_bias_(b / "step_bias",
                   {c.num_heads},
                   init::uniform(-6.9, -2.25),
                   titan::column()),
        log_rate_(b / "log_rate",
                  {c.num_heads},
                  init::uniform(0, 2.77),
                  titan::column()),
        skip_(b / "skip", {c.num_heads}, init::ones(), titan::column()),
        out_(b / "out",
             {c.inner_dim(), c.dim},
             init::trunc_normal(0.02),
             titan::row(c.head_dim)) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const titan::Dtype real = titan::accumulation_dtype(x_TD.dtype());
    const Tensor v_THP = value_(ctx, x_TD).unflatten(-1, {-1, head_dim_});
    const Tensor step_TH =
        (step_(ctx, x_TD).to(real) + step_bias_(ctx).to(real)).softplus();
    const Tensor age_HT =
        (step_TH * log_rate_(ctx).to(real).exp()).cumsum(0).transpose(0, 1);
    const Tensor decay_HTS =
        (age_HT.unsqueeze(1) - age_HT.unsqueeze(2))
            .masked_fill(~visible_pairs(ctx, x_TD),
                         -std::numeric_limits<double>::infinity())
            .exp();
    const Tensor match_TS =
        read_(ctx, x_TD).matmul(write_(ctx, x_TD).transpose(0, 1));
    const Tensor input_HSP =
        (v_THP * step_TH.unsqueeze(-1).to(x_TD.dtype())).transpose(0, 1);
    const Tensor y_HTP =
        (decay_HTS * match_TS.to(real)).to(x_TD.dtype()).matmul(input_HSP);
    const Tensor y_THP =
        y_HTP.transpose(0, 1) + v_THP * skip_(ctx).unsqueeze(-1);
    return out_(ctx, y_THP.flatten(-2) * gate_(ctx, x_TD).silu());
  }

 private:
  int64_t head_dim_;
  titan::Linear value_, gate_, read_, write_, step_;
  titan::Parameter step_bias_, log_rate_, skip_;
  titan::Linear out_;
};

class Block : public titan::Module<Block> {
 public:
  Block(Build b, const Sizes& c)
      : Module(b, "acme.block"),
        norm_(b / "norm", c.dim, {c.norm_eps}),
        mixer_(b / "mixer", c) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    return x_TD + mixer_(ctx, norm_(ctx, x_TD));
  }

 private:
  titan::RMSNorm norm_;
  Mixer mixer_;
};

struct Network {
  Network(const Build& b, const Sizes& c)
      : embed(b / "embed", {c.vocab_size, c.dim}, init::normal(1)),
        layers(b / "layers", c.num_layers, c),
        norm(b / "norm", c.dim, {c.norm_eps}),
        head(b / "head", {c.dim, c.vocab_size}, init::trunc_normal(0.02)) {
    const titan::Carry carry = titan::residual(c.dim);
    b.item(embed, carry, {.batch = {"tokens"}});
    for (const Block& block : layers) b.item(block, carry);
    b.item(norm, carry);
    b.output(head);
  }

  titan::Embedding embed;
  titan::ModuleList<Block> layers;
  titan::RMSNorm norm;
  titan::Linear head;
};

constexpr titan::Flavor kFlavors[] = {
    {"tiny", R"({"dim":64,"num_layers":2,"num_heads":4})"},
    {"small", R"({"dim":512,"num_layers":12,"num_heads":16,"head_dim":64})"},
};

class StateSpace {
 public:
  static constexpr std::string_view kSchema = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 256, "minimum": 1,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 6, "minimum": 1,
  "description": "Number of blocks"},
"num_heads": {"type": "integer", "default": 8, "minimum": 1,
  "description": "Heads, each with its own decay"},
"head_dim": {"type": "integer", "default": 32, "minimum": 1,
  "description": "Channels of a head"},
"state_dim": {"type": "integer", "default": 32, "minimum": 1,
  "description": "Size of the state that each channel keeps"},
"vocab_size": {"type": "integer", "default": 256, "minimum": 1,
  "description": "Rows of the token embedding"},
"norm_eps": {"type": "number", "default": 1e-5, "minimum": 0,
  "description": "Epsilon of every RMSNorm"}
}})json";

  static std::span<const titan::Flavor> flavors() { return kFlavors; }

  explicit StateSpace(const titan::Config& config) : sizes_(config) {}

  void build(Build b) { network_.emplace(b, sizes_); }

  // 6 per weight and token; per pair of positions 6 (N + H P), not halved.
  double flops_per_token(int64_t seq_len) const {
    const Sizes& c = sizes_;
    const int64_t block =
        c.dim * (3 * c.inner_dim() + 2 * c.state_dim + c.num_heads);
    const int64_t pairs = c.num_layers * (c.state_dim + c.inner_dim());
    return 6.0 * static_cast<double>(c.num_layers * block +
                                     c.dim * c.vocab_size + pairs * seq_len);
  }

 private:
  Sizes sizes_;
  std::optional<Network> network_;
};

}  // namespace

TITAN_PLUGIN({.name = "acme.state_space",
              .version = "1.0.0",
              .vendor = "Acme",
              .licence = "BSD-3-Clause"},
             titan::model<StateSpace>("acme.state_space",
                                      "a small state-space language model"))

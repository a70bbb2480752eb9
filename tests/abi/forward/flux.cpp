// SPDX-License-Identifier: BSD-3-Clause
// Compile-only strain on the SDK: Flux.1. Two token streams that become one,
// time conditioning, full attention, no token embedding, a tensor as output.
// Facts: black-forest-labs' release and its diffusers names. Legend: B images,
// I image tokens, X text tokens, L joint tokens (X + I), D model dim, N heads,
// H head dim, C latent channels, V conditioning vector.
#include <cmath>
#include <optional>

#include <titan/sdk.hpp>

namespace titan::flux {
namespace {

constexpr NormOptions kPlainNorm{.eps = 1e-6, .has_weight = false};

struct FluxConfig {
  int64_t dim, num_heads, num_double, num_single, channels;
  int64_t vector_dim, context_dim, mlp_ratio;
  double rope_theta;
  std::vector<int64_t> axes;  // rope dims per position axis

  explicit FluxConfig(const Config& c)
      : dim(c.i64("dim")),
        num_heads(c.i64("num_heads")),
        num_double(c.i64("num_double_blocks")),
        num_single(c.i64("num_single_blocks")),
        channels(c.i64("channels")),
        vector_dim(c.i64("vector_dim")),
        context_dim(c.i64("context_dim")),
        mlp_ratio(c.i64("mlp_ratio")),
        rope_theta(c.f64("rope_theta")),
        axes(c.ints("axes")) {}
  int64_t head_dim() const { return dim / num_heads; }
};

Linear xavier(const Build& b, int64_t in, int64_t out) {
  return Linear(b, {in, out, true}, init::xavier_uniform(in, out));
}

Linear zero(const Build& b, int64_t in, int64_t out) {
  return Linear(b, {in, out, true}, init::zeros());
}

/// (1 + scale) x + shift, one vector per image.
Tensor modulate(const Tensor& x_BLD,
                const Tensor& shift_BD,
                const Tensor& scale_BD) {
  return (1 + scale_BD.unsqueeze(1)) * x_BLD + shift_BD.unsqueeze(1);
}

/// [cos | sin] of 1000 t at 128 frequencies.
Tensor time_embedding(const Tensor& time_B) {
  constexpr int64_t kHalf = 128;
  const Tensor index = arange(time_B, kHalf, Dtype::kF32);
  const Tensor frequency = (index * (-std::log(1e4) / kHalf)).exp();
  const Tensor angle = (time_B.to(Dtype::kF32) * 1000).outer(frequency);
  return cat({angle.cos(), angle.sin()}, -1);
}

/// Adjacent pairs; each axis of the position turns its own share of the head.
class AxialRope {
 public:
  explicit AxialRope(const FluxConfig& c)
      : theta_(c.rope_theta), axes_(c.axes) {}

  Tensor operator()(const Tensor& x_BNLH, const Tensor& ids_BLA) const {
    std::vector<Tensor> angles;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const int64_t half = axes_[axis] / 2;
      const Tensor exponent = arange(ids_BLA, half, Dtype::kF32) / double(half);
      const Tensor frequency = (exponent * -std::log(theta_)).exp();
      const Tensor at_BL = ids_BLA.select(-1, int64_t(axis)).to(Dtype::kF32);
      angles.push_back(at_BL.unsqueeze(-1) * frequency);
    }
    const Tensor angle = cat(angles, -1).unsqueeze(1);
    const Tensor cos = angle.cos();
    const Tensor sin = angle.sin();
    const auto pair = x_BNLH.to(Dtype::kF32).unflatten(-1, {-1, 2}).unbind(-1);
    const Tensor first = pair[0] * cos - pair[1] * sin;
    const Tensor second = pair[0] * sin + pair[1] * cos;
    return stack({first, second}, -1).flatten(-2).to_like(x_BNLH);
  }

 private:
  double theta_;
  std::vector<int64_t> axes_;
};

/// Text ids, then image ids.
Tensor joint_ids(Context& ctx) {
  return cat({ctx.batch("txt_ids"), ctx.batch("img_ids")}, 1);
}

/// Everyone sees everyone: [B, N, L, H] -> [B, L, N H].
Tensor full_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  static constinit AtenOp op{"aten::scaled_dot_product_attention"};
  return op({q, k, v}).transpose(1, 2).flatten(-2);
}

class Embedder : public Module<Embedder> {
 public:
  Embedder(Build b, int64_t in, int64_t dim)
      : Module(b, "flux.embedder"),
        in_layer_(b / "in_layer", {in, dim, true}, init::normal(0.02)),
        out_layer_(b / "out_layer", {dim, dim, true}, init::normal(0.02)) {}
  Tensor forward(Context& ctx, const Tensor& x) const {
    return out_layer_(ctx, in_layer_(ctx, x).silu());
  }

 private:
  Linear in_layer_, out_layer_;
};

/// The first item: nothing but the batch goes in.
class Inputs : public Module<Inputs> {
 public:
  Inputs(Build b, const FluxConfig& c)
      : Module(b, "flux.inputs"),
        img_in_(xavier(b / "img_in", c.channels, c.dim)),
        txt_in_(xavier(b / "txt_in", c.context_dim, c.dim)),
        time_in_(b / "time_in", 256, c.dim),
        vector_in_(b / "vector_in", c.vector_dim, c.dim) {}

  /// {img_BID, txt_BXD, vec_BD}
  std::array<Tensor, 3> forward(Context& ctx,
                                const Tensor& img_BIC,
                                const Tensor& txt_BX,
                                const Tensor& pooled_BV,
                                const Tensor& time_B) const {
    const Tensor time = time_embedding(time_B).to_like(img_BIC);
    return {img_in_(ctx, img_BIC),
            txt_in_(ctx, txt_BX),
            time_in_(ctx, time) + vector_in_(ctx, pooled_BV)};
  }

 private:
  Linear img_in_, txt_in_;
  Embedder time_in_, vector_in_;
};

/// Half of a double block: one stream's weights.
class Stream {
 public:
  Stream(const Build& b, const std::string& name, const FluxConfig& c)
      : head_dim_(c.head_dim()),
        mod_(zero(b / (name + "_mod") / "lin", c.dim, 6 * c.dim)),
        norm1_(b / (name + "_norm1"), c.dim, kPlainNorm),
        qkv_(xavier(b / (name + "_attn") / "qkv", c.dim, 3 * c.dim)),
        query_norm_(b / (name + "_attn") / "norm" / "query_norm",
                    head_dim_,
                    {1e-5}),
        key_norm_(b / (name + "_attn") / "norm" / "key_norm",
                  head_dim_,
                  {1e-5}),
        proj_(xavier(b / (name + "_attn") / "proj", c.dim, c.dim)),
        norm2_(b / (name + "_norm2"), c.dim, kPlainNorm),
        mlp_in_(xavier(b / (name + "_mlp") / "0", c.dim, c.mlp_ratio * c.dim)),
        mlp_out_(
            xavier(b / (name + "_mlp") / "2", c.mlp_ratio * c.dim, c.dim)) {}

  /// shift, scale, gate of attention, then of the MLP.
  std::vector<Tensor> modulation(Context& ctx, const Tensor& vec_BD) const {
    return mod_(ctx, vec_BD.silu()).chunk(6, -1);
  }
  /// q, k, v as [B, N, L, H], q and k normalised.
  std::array<Tensor, 3> heads(Context& ctx,
                              const Tensor& x_BLD,
                              const std::vector<Tensor>& mod) const {
    const Tensor x = modulate(norm1_(ctx, x_BLD), mod[0], mod[1]);
    const auto qkv = qkv_(ctx, x)
                         .unflatten(-1, {3, -1, head_dim_})
                         .transpose(1, 3)
                         .unbind(2);
    return {query_norm_(ctx, qkv[0]), key_norm_(ctx, qkv[1]), qkv[2]};
  }
  Tensor finish(Context& ctx,
                Tensor x_BLD,
                const Tensor& attended_BLD,
                const std::vector<Tensor>& mod) const {
    x_BLD = x_BLD + mod[2].unsqueeze(1) * proj_(ctx, attended_BLD);
    const Tensor m = modulate(norm2_(ctx, x_BLD), mod[3], mod[4]);
    const Tensor h = mlp_in_(ctx, m).gelu("tanh");
    return x_BLD + mod[5].unsqueeze(1) * mlp_out_(ctx, h);
  }

 private:
  int64_t head_dim_;
  Linear mod_;
  LayerNorm norm1_;
  Linear qkv_;
  RMSNorm query_norm_, key_norm_;
  Linear proj_;
  LayerNorm norm2_;
  Linear mlp_in_, mlp_out_;
};

/// Streams keep their own weights and attend jointly.
class DoubleBlock : public Module<DoubleBlock> {
 public:
  DoubleBlock(Build b, const FluxConfig& c)
      : Module(b, "flux.double_block"),
        img_(b, "img", c),
        txt_(b, "txt", c),
        rope_(c) {}

  std::array<Tensor, 3> forward(Context& ctx,
                                const Tensor& img_BID,
                                const Tensor& txt_BXD,
                                const Tensor& vec_BD) const {
    const auto img_mod = img_.modulation(ctx, vec_BD);
    const auto txt_mod = txt_.modulation(ctx, vec_BD);
    const auto img = img_.heads(ctx, img_BID, img_mod);
    const auto txt = txt_.heads(ctx, txt_BXD, txt_mod);
    const Tensor ids_BLA = joint_ids(ctx);
    const Tensor attended_BLD =
        full_attention(rope_(cat({txt[0], img[0]}, 2), ids_BLA),
                       rope_(cat({txt[1], img[1]}, 2), ids_BLA),
                       cat({txt[2], img[2]}, 2));
    const auto parts =
        attended_BLD.split({txt_BXD.size(1), img_BID.size(1)}, 1);
    return {img_.finish(ctx, img_BID, parts[1], img_mod),
            txt_.finish(ctx, txt_BXD, parts[0], txt_mod),
            vec_BD};
  }

 private:
  Stream img_, txt_;
  AxialRope rope_;
};

/// Two streams become one: text first.
class Join : public Module<Join> {
 public:
  explicit Join(Build b) : Module(b, "flux.join") {}
  std::array<Tensor, 2> forward(Context&,
                                const Tensor& img_BID,
                                const Tensor& txt_BXD,
                                const Tensor& vec_BD) const {
    return {cat({txt_BXD, img_BID}, 1), vec_BD};
  }
};

class SingleBlock : public Module<SingleBlock> {
 public:
  SingleBlock(Build b, const FluxConfig& c)
      : Module(b, "flux.single_block"),
        dim_(c.dim),
        hidden_dim_(c.mlp_ratio * c.dim),
        head_dim_(c.head_dim()),
        modulation_(zero(b / "modulation" / "lin", c.dim, 3 * c.dim)),
        pre_norm_(b / "pre_norm", c.dim, kPlainNorm),
        linear1_(xavier(b / "linear1", dim_, 3 * dim_ + hidden_dim_)),
        linear2_(xavier(b / "linear2", dim_ + hidden_dim_, dim_)),
        query_norm_(b / "norm" / "query_norm", head_dim_, {1e-5}),
        key_norm_(b / "norm" / "key_norm", head_dim_, {1e-5}),
        rope_(c) {}

  std::array<Tensor, 2> forward(Context& ctx,
                                const Tensor& x_BLD,
                                const Tensor& vec_BD) const {
    const auto mod = modulation_(ctx, vec_BD.silu()).chunk(3, -1);
    const Tensor x = modulate(pre_norm_(ctx, x_BLD), mod[0], mod[1]);
    const auto parts = linear1_(ctx, x).split({3 * dim_, hidden_dim_}, -1);
    const auto qkv =
        parts[0].unflatten(-1, {3, -1, head_dim_}).transpose(1, 3).unbind(2);
    const Tensor ids_BLA = joint_ids(ctx);
    const Tensor attended_BLD =
        full_attention(rope_(query_norm_(ctx, qkv[0]), ids_BLA),
                       rope_(key_norm_(ctx, qkv[1]), ids_BLA),
                       qkv[2]);
    const Tensor joined = cat({attended_BLD, parts[1].gelu("tanh")}, -1);
    const Tensor out = linear2_(ctx, joined);
    return {x_BLD + mod[2].unsqueeze(1) * out, vec_BD};
  }

 private:
  int64_t dim_, hidden_dim_, head_dim_;
  Linear modulation_;
  LayerNorm pre_norm_;
  Linear linear1_, linear2_;
  RMSNorm query_norm_, key_norm_;
  AxialRope rope_;
};

/// Drops the text and predicts the velocity of each latent patch.
class FinalLayer : public Module<FinalLayer> {
 public:
  FinalLayer(Build b, const FluxConfig& c)
      : Module(b, "flux.final_layer"),
        norm_final_(b / "norm_final", c.dim, kPlainNorm),
        linear_(zero(b / "linear", c.dim, c.channels)),
        modulation_(zero(b / "adaLN_modulation" / "1", c.dim, 2 * c.dim)) {}

  Tensor forward(Context& ctx,
                 const Tensor& x_BLD,
                 const Tensor& vec_BD) const {
    const int64_t num_text = ctx.batch("txt_ids").size(1);
    const auto mod = modulation_(ctx, vec_BD.silu()).chunk(2, -1);
    const Tensor img_BID = x_BLD.slice(1, num_text);
    return linear_(ctx, modulate(norm_final_(ctx, img_BID), mod[0], mod[1]));
  }

 private:
  LayerNorm norm_final_;
  Linear linear_, modulation_;
};

struct Network {
  Network(const Build& b, const FluxConfig& c)
      : inputs(b / "inputs", c),
        double_blocks(b / "double_blocks", c.num_double, c),
        join(b / "join"),
        single_blocks(b / "single_blocks", c.num_single, c),
        final_layer(b / "final_layer", c) {
    const TensorSpec vec{{kDynamic, c.dim}, "vec"};
    const Carry two{{{kDynamic, kDynamic, c.dim}, "img"},
                    {{kDynamic, kDynamic, c.dim}, "txt"},
                    vec};
    const Carry one{{{kDynamic, kDynamic, c.dim}, "joint"}, vec};
    b.item(inputs, two, {.batch = {"img", "txt", "pooled", "timestep"}});
    for (const DoubleBlock& block : double_blocks) b.item(block, two);
    b.item(join, one);
    for (const SingleBlock& block : single_blocks) b.item(block, one);
    b.item(final_layer, {{{kDynamic, kDynamic, c.channels}, "velocity"}});
    b.output();
  }
  Inputs inputs;
  ModuleList<DoubleBlock> double_blocks;
  Join join;
  ModuleList<SingleBlock> single_blocks;
  FinalLayer final_layer;
};

class Flux {
 public:
  static std::span<const Flavor> flavors() { return {}; }
  explicit Flux(const Config& config) : config_(config) {}
  void build(const Build& b) { network_.emplace(b, config_); }
  /// Per joint token: both block kinds hold (4 + 2 mlp_ratio) D^2 per stream.
  double flops_per_token(int64_t seq_len) const {
    const FluxConfig& c = config_;
    const int64_t blocks = c.num_double + c.num_single;
    const int64_t weights = (4 + 2 * c.mlp_ratio) * c.dim * c.dim;
    return 6.0 * double(blocks * (weights + 2 * c.dim * seq_len));
  }

 private:
  FluxConfig config_;
  std::optional<Network> network_;
};

}  // namespace
}  // namespace titan::flux

TITAN_PLUGIN({.name = "test.flux",
              .version = "0.0.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::flux::Flux>("test.flux",
                                             "Compile-only strain on the SDK"))

// SPDX-License-Identifier: BSD-3-Clause
// Compile-only strain on the SDK: Qwen3-VL. A vision tower with a carry that
// grows, features that enter the text decoder at several layers as
// differentiable side inputs, positions with three axes. Facts: Hugging Face's
// Qwen3VL. Legend: T tokens, P patches, Q merged patches (P / 4), D text dim, C
// vision dim, N heads, H head dim, I patch features, L deepstack levels.
#include <cmath>
#include <optional>

#include <titan/sdk.hpp>

#include "plugins/models/layers/attention.hpp"
#include "plugins/models/layers/feed_forward.hpp"

namespace titan::qwen3_vl {
namespace {

constexpr Init kInit = init::trunc_normal(0.02);
constexpr NormOptions kVisionNorm{.eps = 1e-6, .has_bias = true};

struct VisionConfig {
  int64_t dim, num_layers, num_heads, hidden_dim, patch_features;
  int64_t table_side, merge;       // learned positions: table_side squared
  std::vector<int64_t> deepstack;  // block indices whose output is tapped

  explicit VisionConfig(const Config& c)
      : dim(c.i64("vision.dim")),
        num_layers(c.i64("vision.num_layers")),
        num_heads(c.i64("vision.num_heads")),
        hidden_dim(c.i64("vision.hidden_dim")),
        patch_features(c.i64("vision.patch_features")),
        table_side(c.i64("vision.table_side")),
        merge(c.i64("vision.merge")),
        deepstack(c.ints("vision.deepstack")) {}

  int64_t levels() const { return static_cast<int64_t>(deepstack.size()); }
  bool is_tapped(int64_t layer) const {
    for (const int64_t tapped : deepstack)
      if (tapped == layer) return true;
    return false;
  }
};

struct VlConfig {
  int64_t dim, num_layers, num_heads, num_kv_heads, head_dim, hidden_dim;
  int64_t vocab_size, image_token, video_token;
  double norm_eps, rope_theta;
  std::vector<int64_t> mrope_section;
  VisionConfig vision;

  explicit VlConfig(const Config& c)
      : dim(c.i64("dim")),
        num_layers(c.i64("num_layers")),
        num_heads(c.i64("num_heads")),
        num_kv_heads(c.i64("num_kv_heads")),
        head_dim(c.i64("head_dim")),
        hidden_dim(c.i64("hidden_dim")),
        vocab_size(c.i64("vocab_size")),
        image_token(c.i64("image_token")),
        video_token(c.i64("video_token")),
        norm_eps(c.f64("norm_eps")),
        rope_theta(c.f64("rope_theta")),
        mrope_section(c.ints("mrope_section")),
        vision(c) {}
};

/// Patches to vectors plus learned positions, interpolated to the image's grid.
/// Batch: patch_coordinates [P,2] (row, column), patch_extent [P,2] (rows,
/// columns of the patch's image).
class PatchEmbed : public Module<PatchEmbed> {
 public:
  PatchEmbed(Build b, const VisionConfig& c)
      : Module(b, "qwen3_vl.patch_embed"),
        side_(c.table_side),
        proj_(b / "proj", {c.patch_features, c.dim, true}, kInit),
        pos_embed_(b / "pos_embed", {side_ * side_, c.dim}, kInit) {}

  Tensor forward(Context& ctx, const Tensor& pixels_PI) const {
    return proj_(ctx, pixels_PI) + positions(ctx);
  }

 private:
  // Bilinear with aligned corners: four corners weighted by the distances.
  Tensor positions(Context& ctx) const {
    const Tensor cell_P2 = ctx.batch("patch_coordinates").to(Dtype::kF32);
    const Tensor extent_P2 = ctx.batch("patch_extent").to(Dtype::kF32);
    const Tensor at_P2 =
        cell_P2 * double(side_ - 1) / (extent_P2 - 1).clamp_min(1);
    const Tensor low_P2 = at_P2.floor();
    const Tensor high_P2 = (low_P2 + 1).clamp_max(double(side_ - 1));
    const Tensor far_P2 = at_P2 - low_P2;
    const Tensor near_P2 = 1 - far_P2;
    return corner(ctx, low_P2, near_P2, low_P2, near_P2) +
           corner(ctx, low_P2, near_P2, high_P2, far_P2) +
           corner(ctx, high_P2, far_P2, low_P2, near_P2) +
           corner(ctx, high_P2, far_P2, high_P2, far_P2);
  }
  Tensor corner(Context& ctx,
                const Tensor& row,
                const Tensor& row_weight,
                const Tensor& column,
                const Tensor& column_weight) const {
    const Tensor index_P = row.select(1, 0) * side_ + column.select(1, 1);
    const Tensor weight_P =
        row_weight.select(1, 0) * column_weight.select(1, 1);
    const Tensor value_PC = pos_embed_(ctx, index_P.to(Dtype::kI64));
    return value_PC * weight_P.unsqueeze(1).to_like(value_PC);
  }
  int64_t side_;
  Linear proj_;
  Embedding pos_embed_;
};

/// Half of a head turns with the row, half with the column (rotate-half form).
Tensor rope_2d(Context& ctx, const Tensor& x_PNH) {
  const int64_t quarter = x_PNH.size(-1) / 4;
  const Tensor cell_P2 = ctx.batch("patch_coordinates").to(Dtype::kF32);
  const Tensor exponent =
      arange(cell_P2, quarter, Dtype::kF32) / double(quarter);
  const Tensor frequency = (exponent * -std::log(10000.0)).exp();
  const Tensor angle =
      (cell_P2.unsqueeze(-1) * frequency).flatten(1).repeat({1, 2});
  const auto halves = x_PNH.to(Dtype::kF32).chunk(2, -1);
  const Tensor rotated = cat({-halves[1], halves[0]}, -1);
  return (x_PNH * angle.cos().unsqueeze(1) + rotated * angle.sin().unsqueeze(1))
      .to_like(x_PNH);
}

class VisionAttention : public Module<VisionAttention> {
 public:
  VisionAttention(Build b, const VisionConfig& c)
      : Module(b, "qwen3_vl.vision_attention"),
        head_dim_(c.dim / c.num_heads),
        qkv_(b / "qkv", {c.dim, 3 * c.dim, true}, kInit),
        proj_(b / "proj", {c.dim, c.dim, true}, kInit),
        inner_(b.op(
            "inner",
            "titan.attention/1",
            {{"scale", 1 / std::sqrt(double(head_dim_))}, {"causal", false}})) {
  }

  /// Block-diagonal per image or frame.
  Tensor forward(Context& ctx, const Tensor& x_PC) const {
    const auto qkv =
        qkv_(ctx, x_PC).unflatten(-1, {3, -1, head_dim_}).unbind(1);
    const Tensor o_PNH = inner_(ctx,
                                rope_2d(ctx, qkv[0]),
                                rope_2d(ctx, qkv[1]),
                                qkv[2],
                                ctx.batch("vision_cu_seqlens"),
                                ctx.batch("vision_item_id"));
    return proj_(ctx, o_PNH.flatten(-2));
  }

 private:
  int64_t head_dim_;
  Linear qkv_, proj_;
  Op inner_;
};

/// Four neighbouring patches become one vector of the text's width.
class MergerLayers {
 public:
  MergerLayers(const Build& b,
               const VisionConfig& c,
               int64_t dim,
               bool norm_is_merged)
      : group_(c.merge * c.merge),
        norm_is_merged_(norm_is_merged),
        norm_(b / "norm", norm_is_merged ? c.dim * group_ : c.dim, kVisionNorm),
        linear_fc1_(b / "linear_fc1",
                    {c.dim * group_, c.dim * group_, true},
                    kInit),
        linear_fc2_(b / "linear_fc2", {c.dim * group_, dim, true}, kInit) {}

  Tensor operator()(Context& ctx, const Tensor& x_PC) const {
    const Tensor x_Q =
        norm_is_merged_ ? norm_(ctx, grouped(x_PC)) : grouped(norm_(ctx, x_PC));
    return linear_fc2_(ctx, linear_fc1_(ctx, x_Q).gelu());
  }

 private:
  Tensor grouped(const Tensor& x_PC) const {
    return x_PC.unflatten(0, {-1, group_}).flatten(1);
  }
  int64_t group_;
  bool norm_is_merged_;
  LayerNorm norm_;
  Linear linear_fc1_, linear_fc2_;
};

class VisionBlock : public Module<VisionBlock> {
 public:
  VisionBlock(Build b, const VisionConfig& c)
      : Module(b, "qwen3_vl.vision_block"),
        norm1_(b / "norm1", c.dim, kVisionNorm),
        attn_(b / "attn", c),
        norm2_(b / "norm2", c.dim, kVisionNorm),
        linear_fc1_(b / "mlp" / "linear_fc1",
                    {c.dim, c.hidden_dim, true},
                    kInit),
        linear_fc2_(b / "mlp" / "linear_fc2",
                    {c.hidden_dim, c.dim, true},
                    kInit) {}

  /// Features tapped by earlier items pass by unchanged.
  std::vector<Tensor> forward(Context& ctx,
                              Tensor x_PC,
                              std::vector<Tensor> features_QD) const {
    x_PC = x_PC + attn_(ctx, norm1_(ctx, x_PC));
    const Tensor h = linear_fc1_(ctx, norm2_(ctx, x_PC)).gelu("tanh");
    features_QD.insert(features_QD.begin(), x_PC + linear_fc2_(ctx, h));
    return features_QD;
  }

 private:
  LayerNorm norm1_;
  VisionAttention attn_;
  LayerNorm norm2_;
  Linear linear_fc1_, linear_fc2_;
};

/// Taps the patches after a block: passes everything on and adds a feature.
class DeepstackMerger : public Module<DeepstackMerger> {
 public:
  DeepstackMerger(Build b, const VisionConfig& c, int64_t dim)
      : Module(b, "qwen3_vl.deepstack_merger"), layers_(b, c, dim, true) {}
  std::vector<Tensor> forward(Context& ctx,
                              const Tensor& x_PC,
                              std::vector<Tensor> features_QD) const {
    features_QD.push_back(layers_(ctx, x_PC));
    features_QD.insert(features_QD.begin(), x_PC);
    return features_QD;
  }

 private:
  MergerLayers layers_;
};

/// Ends the tower: patches to merged vectors, tapped features unchanged.
class Merger : public Module<Merger> {
 public:
  Merger(Build b, const VisionConfig& c, int64_t dim)
      : Module(b, "qwen3_vl.merger"), layers_(b, c, dim, false) {}
  std::vector<Tensor> forward(Context& ctx,
                              const Tensor& x_PC,
                              std::vector<Tensor> features_QD) const {
    features_QD.insert(features_QD.begin(), layers_(ctx, x_PC));
    return features_QD;
  }

 private:
  MergerLayers layers_;
};

struct VisionEncoder {
  VisionEncoder(const Build& b, const VlConfig& c)
      : patch_embed(b / "patch_embed", c.vision),
        blocks(b / "blocks", c.vision.num_layers, c.vision),
        deepstack(b / "deepstack_merger_list",
                  c.vision.levels(),
                  c.vision,
                  c.dim),
        merger(b / "merger", c.vision, c.dim) {
    Sequence tower = b.tower("vision");
    Carry carry{{{kDynamic, c.vision.dim}, "patches"}};
    tower.item(patch_embed, carry, {.batch = {"pixel_values"}});
    int64_t level = 0;
    for (int64_t layer = 0; layer < blocks.size(); ++layer) {
      tower.item(blocks[layer], carry);
      if (!c.vision.is_tapped(layer)) continue;
      carry.push_back({{kDynamic, c.dim}, text("deepstack_", level)});
      tower.item(deepstack[level++], carry);
    }
    carry[0] = {{kDynamic, c.dim}, "merged"};
    tower.item(merger, carry);
  }
  PatchEmbed patch_embed;
  ModuleList<VisionBlock> blocks;
  ModuleList<DeepstackMerger> deepstack;
  Merger merger;
};

/// Tokens that stand for image or video patches.
Tensor visual_positions(Context& ctx, const VlConfig& c) {
  const Tensor tokens_T = ctx.batch("tokens");
  return ((tokens_T == c.image_token) | (tokens_T == c.video_token))
      .unsqueeze(-1);
}

/// Puts the merged vision vectors where their placeholders stand.
class Inject : public Module<Inject> {
 public:
  Inject(Build b, const VlConfig& c)
      : Module(b, "qwen3_vl.inject"), config_(c) {}
  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor features_QD = ctx.side_input("vision.merged");
    return aten("aten::masked_scatter",
                x_TD,
                visual_positions(ctx, config_),
                features_QD.to_like(x_TD));
  }

 private:
  const VlConfig& config_;
};

class TextBlock : public Module<TextBlock> {
 public:
  TextBlock(Build b, const VlConfig& c, int64_t layer)
      : Module(b, "qwen3_vl.text_block"),
        config_(c),
        input_norm_(b / "attention_norm", c.dim, {c.norm_eps}),
        attention_(b / "attention", c),
        ffn_norm_(b / "ffn_norm", c.dim, {c.norm_eps}),
        feed_forward_(b / "feed_forward", {c.dim, c.hidden_dim}, kInit, kInit) {
    if (layer < c.vision.levels())
      side_input_ = text("vision.deepstack_", layer);
  }
  const std::string& side_input() const { return side_input_; }

  Tensor forward(Context& ctx, Tensor x_TD) const {
    x_TD = x_TD + attention_(ctx, input_norm_(ctx, x_TD));
    x_TD = x_TD + feed_forward_(ctx, ffn_norm_(ctx, x_TD));
    if (side_input_.empty()) return x_TD;
    const Tensor features_QD = ctx.side_input(side_input_).to_like(x_TD);
    return x_TD + aten("aten::masked_scatter",
                       x_TD.zeros_like(),
                       visual_positions(ctx, config_),
                       features_QD);
  }

 private:
  class Attention : public Module<Attention> {
   public:
    Attention(Build b, const VlConfig& c)
        : Module(b, "qwen3_vl.text_attention"),
          head_dim_(c.head_dim),
          wq_(b / "qkv_linear" / "wq",
              {c.dim, c.num_heads * c.head_dim},
              kInit,
              column(c.head_dim)),
          wk_(b / "qkv_linear" / "wk",
              {c.dim, c.num_kv_heads * c.head_dim},
              kInit,
              column(c.head_dim)),
          wv_(b / "qkv_linear" / "wv",
              {c.dim, c.num_kv_heads * c.head_dim},
              kInit,
              column(c.head_dim)),
          wo_(b / "wo",
              {c.num_heads * c.head_dim, c.dim},
              kInit,
              row(c.head_dim)),
          q_norm_(b / "q_norm", c.head_dim, {c.norm_eps}),
          k_norm_(b / "k_norm", c.head_dim, {c.norm_eps}),
          rope_(b.op("rope",
                     "titan.rope_cos_sin/1",
                     {{"theta", c.rope_theta},
                      {"mrope_section", c.mrope_section},
                      {"mrope_interleaved", true}})),
          inner_(b.op("inner",
                      "titan.attention/1",
                      {{"scale", 1 / std::sqrt(double(c.head_dim))},
                       {"causal", true}})) {}

    Tensor forward(Context& ctx, const Tensor& x_TD) const {
      const Tensor positions_T3 = ctx.batch("positions");
      const Tensor q_TNH =
          q_norm_(ctx, wq_(ctx, x_TD).unflatten(-1, {-1, head_dim_}));
      const Tensor k_TKH =
          k_norm_(ctx, wk_(ctx, x_TD).unflatten(-1, {-1, head_dim_}));
      const Tensor v_TKH = wv_(ctx, x_TD).unflatten(-1, {-1, head_dim_});
      const Tensor o_TNH = inner_(ctx,
                                  rope_(ctx, q_TNH, positions_T3),
                                  rope_(ctx, k_TKH, positions_T3),
                                  v_TKH,
                                  ctx.batch("cu_seqlens"),
                                  ctx.batch("doc_id"));
      return wo_(ctx, o_TNH.flatten(-2));
    }

   private:
    int64_t head_dim_;
    Linear wq_, wk_, wv_, wo_;
    RMSNorm q_norm_, k_norm_;
    Op rope_, inner_;
  };

  const VlConfig& config_;
  RMSNorm input_norm_;
  Attention attention_;
  RMSNorm ffn_norm_;
  layers::FeedForward feed_forward_;
  std::string side_input_;
};

struct VisionLanguageModel {
  VisionLanguageModel(const Build& b, const VlConfig& c)
      : vision(b / "vision_encoder", c),
        tok_embeddings(b / "tok_embeddings",
                       {c.vocab_size, c.dim},
                       kInit,
                       vocab()),
        inject(b / "inject", c),
        layers(b / "layers", c.num_layers, c),
        norm(b / "norm", c.dim, {c.norm_eps}),
        lm_head(b / "lm_head", {c.dim, c.vocab_size}, kInit, vocab()) {
    const Carry carry = residual(c.dim);
    b.item(tok_embeddings, carry, {.batch = {"tokens"}});
    b.item(inject, carry, {.side = {"vision.merged"}});
    for (const TextBlock& block : layers) {
      ItemInputs inputs;
      if (!block.side_input().empty()) inputs.side = {block.side_input()};
      b.item(block, carry, inputs);
    }
    b.item(norm, carry);
    b.output(lm_head);
  }
  VisionEncoder vision;
  Embedding tok_embeddings;
  Inject inject;
  ModuleList<TextBlock> layers;
  RMSNorm norm;
  Linear lm_head;
};

class Qwen3Vl {
 public:
  static std::span<const Flavor> flavors() { return {}; }
  explicit Qwen3Vl(const Config& config) : config_(config) {}
  void build(const Build& b) { model_.emplace(b, config_); }
  /// Text tower only: patches are not tokens.
  double flops_per_token(int64_t seq_len) const {
    const VlConfig& c = config_;
    const int64_t attention =
        2 * c.dim * c.head_dim * (c.num_heads + c.num_kv_heads);
    const int64_t block = attention + 3 * c.dim * c.hidden_dim;
    const int64_t scores = 2 * c.num_heads * c.head_dim * seq_len;
    return 6.0 * double(c.num_layers * (block + scores) + c.vocab_size * c.dim);
  }

 private:
  VlConfig config_;
  std::optional<VisionLanguageModel> model_;
};

}  // namespace
}  // namespace titan::qwen3_vl

TITAN_PLUGIN(
    {.name = "test.qwen3_vl",
     .version = "0.0.0",
     .vendor = "Titan",
     .licence = "BSD-3-Clause"},
    titan::model<titan::qwen3_vl::Qwen3Vl>("test.qwen3_vl",
                                           "Compile-only strain on the SDK"))

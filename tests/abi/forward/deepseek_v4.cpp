// SPDX-License-Identifier: BSD-3-Clause
// Compile-only strain on the SDK: DeepSeek-V4's decoder. Several residual
// streams mixed per layer (mHC), hash routing that needs token ids inside the
// block, compressed keys beside a sliding window, sinks. Facts: DeepSeek-V4's
// released code and checkpoint names. Legend: T tokens, S residual streams, D
// model dim, N heads, H head dim, R rope dims (trailing), W compressed entries,
// M tokens per entry, E experts, K chosen experts, F expert hidden, G output
// groups.
#include <cmath>
#include <optional>

#include <titan/sdk.hpp>

#include "plugins/models/layers/feed_forward.hpp"
#include "plugins/models/layers/moe.hpp"

namespace titan::deepseek_v4 {
namespace {

constexpr Init kInit = init::trunc_normal(0.02);
constexpr double kMasked = -1e30;

struct V4Config {
  int64_t dim, num_layers, vocab_size, num_heads, head_dim, rope_dim;
  int64_t q_lora_rank, o_lora_rank, o_groups, window;
  int64_t index_heads, index_dim, index_topk;
  int64_t expert_dim, num_experts, experts_per_token, num_hash_layers;
  int64_t streams, sinkhorn_iterations;
  double norm_eps, route_scale, rope_theta, compress_theta, yarn_factor;
  bool route_norm;
  std::vector<int64_t> compress_ratios;  // per layer: 0 or 1, 4, 128

  explicit V4Config(const Config& c)
      : dim(c.i64("dim")),
        num_layers(c.i64("num_layers")),
        vocab_size(c.i64("vocab_size")),
        num_heads(c.i64("num_heads")),
        head_dim(c.i64("head_dim")),
        rope_dim(c.i64("rope_dim")),
        q_lora_rank(c.i64("q_lora_rank")),
        o_lora_rank(c.i64("o_lora_rank")),
        o_groups(c.i64("o_groups")),
        window(c.i64("window")),
        index_heads(c.i64("index_heads")),
        index_dim(c.i64("index_dim")),
        index_topk(c.i64("index_topk")),
        expert_dim(c.i64("expert_dim")),
        num_experts(c.i64("num_experts")),
        experts_per_token(c.i64("experts_per_token")),
        num_hash_layers(c.i64("num_hash_layers")),
        streams(c.i64("streams")),
        sinkhorn_iterations(c.i64("sinkhorn_iterations")),
        norm_eps(c.f64("norm_eps")),
        route_scale(c.f64("route_scale")),
        rope_theta(c.f64("rope_theta")),
        compress_theta(c.f64("compress_theta")),
        yarn_factor(c.f64("yarn_factor")),
        route_norm(c.flag("route_norm")),
        compress_ratios(c.ints("compress_ratios")) {}

  int64_t ratio(int64_t layer) const {
    return compress_ratios[static_cast<std::size_t>(layer)];
  }
};

Tensor rms(const Tensor& x, double eps) {
  const Tensor x_f = x.to(accumulation_dtype(x.dtype()));
  const Tensor scale = (x_f.square().mean(-1, true) + eps).rsqrt();
  return (x_f * scale).to_like(x);
}

/// Rope on the trailing dimensions of a head.
class TrailingRope {
 public:
  TrailingRope(const Build& b,
               std::string_view site,
               const V4Config& c,
               bool is_compressed,
               bool is_inverse = false)
      : rope_dim_(c.rope_dim),
        rope_(b.op(site,
                   "titan.rope_complex/1",
                   {{"theta", is_compressed ? c.compress_theta : c.rope_theta},
                    {"scaling", is_compressed ? "yarn" : "none"},
                    {"factor", c.yarn_factor},
                    {"original_max_position", 65536},
                    {"inverse", is_inverse}})) {}

  Tensor operator()(Context& ctx, const Tensor& x, const Tensor& at) const {
    const int64_t plain = x.size(-1) - rope_dim_;
    const auto parts = x.split({plain, rope_dim_}, -1);
    return cat({parts[0], rope_(ctx, parts[1], at)}, -1);
  }

 private:
  int64_t rope_dim_;
  Op rope_;
};

/// Mixes the streams: what a sublayer reads, and how its result goes back.
class HyperConnection : public Module<HyperConnection> {
 public:
  HyperConnection(Build b, const V4Config& c)
      : Module(b, "deepseek_v4.hyper_connection"),
        streams_(c.streams),
        iterations_(c.sinkhorn_iterations),
        hc_fn_(b / "hc_fn",
               {(2 + c.streams) * c.streams, c.streams * c.dim},
               kInit),
        hc_base_(b / "hc_base", {(2 + c.streams) * c.streams}, kInit),
        hc_scale_(b / "hc_scale", {3}, kInit) {}

  /// {y_TD, post_TS, mix_TSS}
  std::array<Tensor, 3> forward(Context& ctx, const Tensor& x_TSD) const {
    const Dtype real = accumulation_dtype(x_TSD.dtype());
    const Tensor flat = rms(x_TSD.flatten(-2).to(real), kEps);
    const Tensor z = flat.matmul(hc_fn_(ctx).to(real).t());
    const std::vector<int64_t> parts{streams_, streams_, streams_ * streams_};
    const auto base = hc_base_(ctx).to(real).split(parts);
    const auto scale = hc_scale_(ctx).to(real).unbind();
    const auto raw = z.split(parts, -1);
    const Tensor pre_TS = (raw[0] * scale[0] + base[0]).sigmoid() + kEps;
    const Tensor post_TS = 2 * (raw[1] * scale[1] + base[1]).sigmoid();
    const Tensor mix_TSS = sinkhorn(
        (raw[2] * scale[2] + base[2]).unflatten(-1, {streams_, streams_}));
    const Tensor y_TD = (pre_TS.unsqueeze(-1) * x_TSD).sum(1);
    return {y_TD.to_like(x_TSD), post_TS, mix_TSS};
  }

  /// X'_j = post_j f + sum_i mix_ij X_i
  static Tensor merge(const Tensor& x_TSD,
                      const Tensor& f_TD,
                      const Tensor& post_TS,
                      const Tensor& mix_TSS) {
    const Tensor kept_TSD =
        einsum("tij,tid->tjd", {mix_TSS, x_TSD.to_like(mix_TSS)});
    return (kept_TSD + post_TS.unsqueeze(-1) * f_TD.unsqueeze(1))
        .to_like(x_TSD);
  }

 private:
  static constexpr double kEps = 1e-6;

  Tensor sinkhorn(const Tensor& logits_TSS) const {
    Tensor c = (logits_TSS - logits_TSS.amax(-1, true)).exp();
    for (int64_t i = 0; i < iterations_; ++i) {
      c = c / (c.sum(-1, true) + kEps);
      c = c / (c.sum(-2, true) + kEps);
    }
    return c;
  }
  int64_t streams_;
  int64_t iterations_;
  Parameter hc_fn_, hc_base_, hc_scale_;
};

/// One key per M tokens: a gated sum over the window (and, with overlap, over
/// the window before it).
class Compressor : public Module<Compressor> {
 public:
  Compressor(Build b, const V4Config& c, int64_t ratio, int64_t width)
      : Module(b, "deepseek_v4.compressor"),
        ratio_(ratio),
        width_(width),
        series_(ratio == 4 ? 2 : 1),
        wkv_(b / "wkv", {c.dim, series_ * width}, kInit),
        wgate_(b / "wgate", {c.dim, series_ * width}, kInit),
        ape_(b / "ape", {ratio, series_ * width}, kInit),
        norm_(b / "norm", width, {c.norm_eps}),
        rope_(b, "rope", c, /*is_compressed=*/true) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor kv = wkv_(ctx, x_TD).unflatten(0, {-1, ratio_});
    const Tensor gate =
        wgate_(ctx, x_TD).unflatten(0, {-1, ratio_}) + ape_(ctx);
    const Tensor entry_WH =
        series_ == 2 ? overlapped(kv, gate) : weighted(kv, gate);
    const Tensor first_W =
        ctx.batch("positions").unflatten(0, {-1, ratio_}).select(1, 0);
    return rope_(ctx, norm_(ctx, entry_WH).unsqueeze(1), first_W).squeeze(1);
  }

 private:
  static Tensor weighted(const Tensor& kv_WMH, const Tensor& gate_WMH) {
    return (gate_WMH.softmax(1) * kv_WMH).sum(1);
  }
  Tensor overlapped(const Tensor& kv, const Tensor& gate) const {
    const auto kv_ab = kv.split(width_, -1);
    const auto gate_ab = gate.split(width_, -1);
    const Tensor before = shifted(kv_ab[0], 0);
    const Tensor gate_before = shifted(gate_ab[0], kMasked);
    return weighted(cat({before, kv_ab[1]}, 1),
                    cat({gate_before, gate_ab[1]}, 1));
  }
  /// The window before; `fill` before the first.
  static Tensor shifted(const Tensor& x_WMH, double fill) {
    const Tensor head = full(x_WMH, {1, x_WMH.size(1), x_WMH.size(2)}, fill);
    return cat({head, x_WMH.slice(0, 0, -1)}, 0);
  }
  int64_t ratio_, width_, series_;
  Linear wkv_, wgate_;
  Parameter ape_;
  RMSNorm norm_;
  TrailingRope rope_;
};

/// Chooses compressed entries; learns nothing from the language-model loss.
class Indexer : public Module<Indexer> {
 public:
  Indexer(Build b, const V4Config& c)
      : Module(b, "deepseek_v4.indexer"),
        heads_(c.index_heads),
        dim_(c.index_dim),
        topk_(c.index_topk),
        wq_b_(b / "wq_b", {c.q_lora_rank, heads_ * dim_}, kInit),
        weights_proj_(b / "weights_proj", {c.dim, heads_}, kInit),
        compressor_(b / "compressor", c, 4, dim_),
        rope_(b, "rope", c, /*is_compressed=*/true) {}

  /// chosen_TW: may token t attend to entry w?
  Tensor forward(Context& ctx,
                 const Tensor& x_TD,
                 const Tensor& q_latent,
                 const Tensor& visible_TW) const {
    const Tensor x = x_TD.detach();
    const Tensor k_WH = compressor_(ctx, x);
    const Tensor q_TNH =
        rope_(ctx,
              wq_b_(ctx, q_latent.detach()).unflatten(-1, {heads_, dim_}),
              ctx.batch("positions"));
    const Tensor weight_TN =
        weights_proj_(ctx, x) * (1 / std::sqrt(double(dim_ * heads_)));
    const Tensor match_TNW = einsum("tnh,wh->tnw", {q_TNH, k_WH}).relu();
    const Tensor score_TW = (weight_TN.unsqueeze(-1) * match_TNW).sum(1);
    const Tensor open = score_TW.masked_fill(~visible_TW, kMasked);
    const int64_t count = std::min(topk_, score_TW.size(-1));
    const auto [best, index_TK] = open.topk(count, -1);
    const Tensor chosen = score_TW.zeros_like().scatter(-1, index_TK, 1.0) > 0;
    return chosen & visible_TW;
  }

 private:
  int64_t heads_, dim_, topk_;
  Linear wq_b_, weights_proj_;
  Compressor compressor_;
  TrailingRope rope_;
};

class Attention : public Module<Attention> {
 public:
  Attention(Build b, const V4Config& c, int64_t layer)
      : Module(b, "deepseek_v4.attention"),
        head_dim_(c.head_dim),
        window_(c.window),
        ratio_(c.ratio(layer)),
        groups_(c.o_groups),
        eps_(c.norm_eps),
        wq_a_(b / "wq_a", {c.dim, c.q_lora_rank}, kInit),
        q_norm_(b / "q_norm", c.q_lora_rank, {c.norm_eps}),
        wq_b_(b / "wq_b",
              {c.q_lora_rank, c.num_heads * c.head_dim},
              kInit,
              column(c.head_dim)),
        wkv_(b / "wkv", {c.dim, c.head_dim}, kInit),
        kv_norm_(b / "kv_norm", c.head_dim, {c.norm_eps}),
        sink_(b / "attn_sink" / "weight", {c.num_heads, 1}, kInit, column()),
        wo_a_(
            b / "wo_a" / "weight",
            {c.o_groups * c.o_lora_rank, c.num_heads * c.head_dim / c.o_groups},
            kInit,
            column(c.o_lora_rank)),
        wo_b_(b / "wo_b", {c.o_groups * c.o_lora_rank, c.dim}, kInit, row()),
        rope_(b, "rope", c, ratio_ > 1),
        unrope_(b, "unrope", c, ratio_ > 1, /*is_inverse=*/true) {
    if (ratio_ > 1)
      compressor_.emplace(b / (ratio_ == 4 ? "compressor" : "compressor_128"),
                          c,
                          ratio_,
                          head_dim_);
    if (ratio_ == 4) indexer_.emplace(b / "indexer", c);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor at_T = ctx.batch("positions");
    const Tensor q_latent = q_norm_(ctx, wq_a_(ctx, x_TD));
    const Tensor heads_TNH =
        rms(wq_b_(ctx, q_latent).unflatten(-1, {-1, head_dim_}), eps_);
    const Tensor q_TNH = rope_(ctx, heads_TNH, at_T);
    const Tensor kv_TH = kv_norm_(ctx, wkv_(ctx, x_TD));
    Tensor keys_UH = rope_(ctx, kv_TH.unsqueeze(1), at_T).squeeze(1);
    Tensor open_TU = window_mask(ctx);
    if (compressor_) {
      const Tensor entries_WH = (*compressor_)(ctx, x_TD);
      Tensor visible_TW = closed_entries(ctx, entries_WH.size(0));
      if (indexer_) visible_TW = (*indexer_)(ctx, x_TD, q_latent, visible_TW);
      keys_UH = cat({keys_UH, entries_WH}, 0);
      open_TU = cat({open_TU, visible_TW}, 1);
    }
    const Tensor o_TNH = attend(ctx, q_TNH, keys_UH, open_TU);
    return project(ctx, unrope_(ctx, o_TNH, at_T));
  }

 private:
  /// Same document, not later, inside the window.
  Tensor window_mask(Context& ctx) const {
    const Tensor doc_T = ctx.batch("doc_id");
    const Tensor index_T = arange(doc_T, doc_T.size(0));
    const Tensor age_TT = index_T.unsqueeze(1) - index_T.unsqueeze(0);
    return (doc_T.unsqueeze(1) == doc_T.unsqueeze(0)) & (age_TT >= 0) &
           (age_TT < window_);
  }
  /// Entry w covers tokens [w M, (w + 1) M): open once they have all passed,
  /// and only inside the document of its last token.
  Tensor closed_entries(Context& ctx, int64_t num_entries) const {
    const Tensor doc_T = ctx.batch("doc_id");
    const Tensor index_T = arange(doc_T, doc_T.size(0));
    const Tensor closed_T1 = (index_T + 1).floor_divide(ratio_).unsqueeze(1);
    const Tensor entry_W = arange(doc_T, num_entries);
    const Tensor doc_W = doc_T.unflatten(0, {-1, ratio_}).select(1, -1);
    return (entry_W.unsqueeze(0) < closed_T1) &
           (doc_T.unsqueeze(1) == doc_W.unsqueeze(0));
  }
  Tensor attend(Context& ctx,
                const Tensor& q_TNH,
                const Tensor& keys_UH,
                const Tensor& open_TU) const {
    const Dtype real = accumulation_dtype(q_TNH.dtype());
    const Tensor scaled = q_TNH * (1 / std::sqrt(double(head_dim_)));
    const Tensor logits_TNU = einsum("tnh,uh->tnu", {scaled, keys_UH})
                                  .to(real)
                                  .masked_fill(~open_TU.unsqueeze(1), kMasked);
    const Tensor sink_TN1 =
        sink_(ctx).to(real).unsqueeze(0).expand({q_TNH.size(0), -1, -1});
    const Tensor weights = cat({logits_TNU, sink_TN1}, -1).softmax(-1);
    return einsum("tnu,uh->tnh",
                  {weights.slice(-1, 0, -1).to_like(keys_UH), keys_UH});
  }
  /// Block-diagonal per group, then a joint projection.
  Tensor project(Context& ctx, const Tensor& o_TNH) const {
    const Tensor weight = wo_a_(ctx);
    const int64_t per_group = weight.size(1);
    const Tensor o_TGC = o_TNH.flatten(1).unflatten(-1, {-1, per_group});
    const Tensor w_GRC = weight.unflatten(0, {o_TGC.size(1), -1});
    return wo_b_(ctx, einsum("tgc,grc->tgr", {o_TGC, w_GRC}).flatten(1));
  }

  int64_t head_dim_, window_, ratio_, groups_;
  double eps_;
  Linear wq_a_;
  RMSNorm q_norm_;
  Linear wq_b_, wkv_;
  RMSNorm kv_norm_;
  Parameter sink_, wo_a_;
  Linear wo_b_;
  TrailingRope rope_, unrope_;
  std::optional<Compressor> compressor_;
  std::optional<Indexer> indexer_;
};

class Moe : public Module<Moe> {
 public:
  Moe(Build b, const V4Config& c, int64_t layer)
      : Module(b, "deepseek_v4.moe"),
        router_(b / "router", c.dim, router_config(c), kInit),
        experts_(b / "routed_experts",
                 {.dim = c.dim,
                  .hidden_dim = c.expert_dim,
                  .num_experts = c.num_experts,
                  .swiglu_limit = 10},
                 {kInit, kInit, kInit}),
        shared_(b / "shared_experts", {c.dim, c.expert_dim}, kInit, kInit),
        counts_(b / "tokens_per_expert_E",
                {c.num_experts},
                Dtype::kF32,
                BufferKind::kStepStatistic) {
    if (layer < c.num_hash_layers)
      table_.emplace(hash_table(b, c));
    else
      bias_.emplace(b / "expert_bias_E",
                    std::vector<int64_t>{c.num_experts},
                    Dtype::kF32,
                    BufferKind::kPersistent);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    Tensor bias_E, given_TK;
    if (table_)
      given_TK = (*table_)(ctx).index_select(0, ctx.batch("tokens"));
    else
      bias_E = (*bias_)(ctx);
    const layers::Routing to = router_(ctx, x_TD, bias_E, given_TK);
    counts_.accumulate(ctx, to.counts_E);
    return experts_(ctx, x_TD, to.weights_TK, to.indices_TK) +
           shared_(ctx, x_TD);
  }

  void after_step(Context& ctx) const {
    if (bias_)
      bias_->set(ctx, layers::balanced_bias((*bias_)(ctx), counts_(ctx), 1e-3));
  }

 private:
  static layers::RouterConfig router_config(const V4Config& c) {
    return {.num_experts = c.num_experts,
            .top_k = c.experts_per_token,
            .score = "sqrt_softplus",
            .normalise = c.route_norm,
            .scale = c.route_scale};
  }
  /// Distinct experts per token id; a checkpoint brings its own table.
  static Buffer hash_table(const Build& b, const V4Config& c) {
    Buffer table(b / "router" / "tid2eid",
                 {c.vocab_size, c.experts_per_token},
                 Dtype::kI64,
                 BufferKind::kPersistent);
    std::vector<int64_t> ids;
    for (int64_t token = 0; token < c.vocab_size; ++token)
      for (int64_t k = 0; k < c.experts_per_token; ++k)
        ids.push_back((token * 2654435761 + k) % c.num_experts);
    table.initial<int64_t>(ids);
    return table;
  }

  layers::Router router_;
  layers::RoutedExperts experts_;
  layers::FeedForward shared_;
  Buffer counts_;
  std::optional<Buffer> table_;
  std::optional<Buffer> bias_;
};

class Block : public Module<Block> {
 public:
  Block(Build b, const V4Config& c, int64_t layer)
      : Module(b, "deepseek_v4.block"),
        hc_attn_pre_(b / "hc_attn_pre", c),
        attention_norm_(b / "attention_norm", c.dim, {c.norm_eps}),
        attention_(b / "attention", c, layer),
        hc_ffn_pre_(b / "hc_ffn_pre", c),
        ffn_norm_(b / "ffn_norm", c.dim, {c.norm_eps}),
        moe_(b / "moe", c, layer) {}

  Tensor forward(Context& ctx, Tensor x_TSD) const {
    const auto [a_TD, a_post, a_mix] = hc_attn_pre_(ctx, x_TSD);
    const Tensor attended_TD = attention_(ctx, attention_norm_(ctx, a_TD));
    x_TSD = HyperConnection::merge(x_TSD, attended_TD, a_post, a_mix);
    const auto [f_TD, f_post, f_mix] = hc_ffn_pre_(ctx, x_TSD);
    const Tensor routed_TD = moe_(ctx, ffn_norm_(ctx, f_TD));
    return HyperConnection::merge(x_TSD, routed_TD, f_post, f_mix);
  }

 private:
  HyperConnection hc_attn_pre_;
  RMSNorm attention_norm_;
  Attention attention_;
  HyperConnection hc_ffn_pre_;
  RMSNorm ffn_norm_;
  Moe moe_;
};

/// The embedding in every stream.
class Expand : public Module<Expand> {
 public:
  Expand(Build b, const V4Config& c)
      : Module(b, "deepseek_v4.expand"), streams_(c.streams) {}
  Tensor forward(Context&, const Tensor& x_TD) const {
    return x_TD.unsqueeze(1).repeat({1, streams_, 1});
  }

 private:
  int64_t streams_;
};

/// Streams to one residual.
class Head : public Module<Head> {
 public:
  Head(Build b, const V4Config& c)
      : Module(b, "deepseek_v4.hc_head"),
        hc_fn_(b / "hc_fn", {c.streams, c.streams * c.dim}, kInit),
        hc_base_(b / "hc_base", {c.streams}, kInit),
        hc_scale_(b / "hc_scale", {1}, kInit) {}
  Tensor forward(Context& ctx, const Tensor& x_TSD) const {
    const Dtype real = accumulation_dtype(x_TSD.dtype());
    const Tensor z_TS =
        rms(x_TSD.flatten(-2).to(real), 1e-6).matmul(hc_fn_(ctx).to(real).t());
    const Tensor pre_TS =
        (z_TS * hc_scale_(ctx) + hc_base_(ctx)).sigmoid() + 1e-6;
    return (pre_TS.unsqueeze(-1) * x_TSD).sum(1).to_like(x_TSD);
  }

 private:
  Parameter hc_fn_, hc_base_, hc_scale_;
};

struct Decoder {
  Decoder(const Build& b, const V4Config& c)
      : tok_embeddings(b / "tok_embeddings",
                       {c.vocab_size, c.dim},
                       kInit,
                       vocab()),
        expand(b / "expand", c),
        layers(b / "layers", c.num_layers, c),
        hc_head(b / "hc_head", c),
        norm(b / "norm", c.dim, {c.norm_eps}),
        lm_head(b / "lm_head", {c.dim, c.vocab_size}, kInit, vocab()) {
    const Carry streams{{{kTokens, c.streams, c.dim}, "streams"}};
    b.item(tok_embeddings, residual(c.dim), {.batch = {"tokens"}});
    b.item(expand, streams);
    for (const Block& block : layers) b.item(block, streams);
    b.item(hc_head, residual(c.dim));
    b.item(norm, residual(c.dim));
    b.output(lm_head);
  }
  Embedding tok_embeddings;
  Expand expand;
  ModuleList<Block> layers;
  Head hc_head;
  RMSNorm norm;
  Linear lm_head;
};

class DeepSeekV4 {
 public:
  static std::span<const Flavor> flavors() { return {}; }
  explicit DeepSeekV4(const Config& config) : config_(config) {}
  void build(const Build& b) { decoder_.emplace(b, config_); }
  /// Active weights, and the window plus the compressed keys as attention.
  double flops_per_token(int64_t seq_len) const {
    const V4Config& c = config_;
    const int64_t heads = c.num_heads * c.head_dim;
    const int64_t attention = c.dim * (c.q_lora_rank + c.head_dim) +
                              c.q_lora_rank * heads + c.o_lora_rank * heads +
                              c.o_groups * c.o_lora_rank * c.dim;
    const int64_t experts =
        3 * c.dim * c.expert_dim * (c.experts_per_token + 1);
    int64_t keys = 0;
    for (int64_t layer = 0; layer < c.num_layers; ++layer)
      keys += c.window + (c.ratio(layer) > 1 ? seq_len / c.ratio(layer) : 0);
    return 6.0 * double(c.num_layers * (attention + experts) +
                        2 * heads * keys + c.vocab_size * c.dim);
  }

 private:
  V4Config config_;
  std::optional<Decoder> decoder_;
};

}  // namespace
}  // namespace titan::deepseek_v4

TITAN_PLUGIN({.name = "test.deepseek_v4",
              .version = "0.0.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::deepseek_v4::DeepSeekV4>(
                 "test.deepseek_v4",
                 "Compile-only strain on the SDK"))

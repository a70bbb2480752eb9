// SPDX-License-Identifier: BSD-3-Clause
// Call sites and what the host owns, as small values: `Op`, the leaves (Linear,
// Embedding, RMSNorm, LayerNorm), `Parameter`, and `Buffer` (buffer.hpp).
#pragma once

#include <string_view>
#include <vector>

#include <titan/sdk/buffer.hpp>
#include <titan/sdk/module.hpp>

namespace titan {

/// A call site of a catalogue op.
class Op {
 public:
  Op(titan_slot* slot) : slot_(slot) {}  // from Build::op

  /// For an op with one output; `titan::none` for an absent input.
  template <typename... Inputs>
  Tensor operator()(Context& ctx, const Inputs&... inputs) const {
    return std::move(outputs<1>(ctx, inputs...)[0]);
  }
  template <std::size_t N, typename... Inputs>
  std::array<Tensor, N> outputs(Context& ctx, const Inputs&... inputs) const {
    const std::array<titan_tensor, sizeof...(Inputs)> in{handle_of(inputs)...};
    std::array<Tensor, N> out;
    detail::HostError error;
    // A Tensor is one handle; empty ones are filled with new references.
    detail::check(host().op->invoke(ctx.handle(),
                                    slot_,
                                    in.data(),
                                    static_cast<uint32_t>(in.size()),
                                    reinterpret_cast<titan_tensor*>(out.data()),
                                    static_cast<uint32_t>(N),
                                    error),
                  error);
    return out;
  }
  titan_slot* slot() const { return slot_; }

 private:
  static titan_tensor handle_of(const TensorView& tensor) {
    return tensor.handle();
  }
  static titan_tensor handle_of(None) { return nullptr; }
  titan_slot* slot_;
};

/// A parameter's description, named relative to its module.
struct ParameterSpec {
  std::string_view name;
  std::vector<int64_t> sizes;
  Init init;
  Shard shard = {};

  titan_parameter_spec raw() const {
    titan_parameter_spec out{};
    out.struct_size = sizeof(out);
    out.init = init.kind;
    out.name = detail::str(name);
    out.dims = sizes.data();
    out.num_dims = static_cast<uint32_t>(sizes.size());
    out.shard = shard.kind;
    out.shard_granule = shard.granule;
    out.mean = init.mean;
    out.std = init.std;
    out.low = init.low;
    out.high = init.high;
    return out;
  }
};

/// A module that is one op and its parameters.
class Leaf {
 public:
  [[gnu::noinline]] Leaf(const Build& b,
                         std::string_view op_id,
                         Attributes attributes,
                         const std::vector<ParameterSpec>& parameters) {
    std::vector<titan_parameter_spec> raw;
    for (const ParameterSpec& parameter : parameters)
      raw.push_back(parameter.raw());
    const auto pointers = detail::pointers_to(raw);
    titan_op_spec spec = Build::op_spec(op_id, attributes);
    spec.num_parameters = static_cast<uint32_t>(pointers.size());
    spec.parameters = pointers.data();
    detail::build_call(detail::builder().leaf,
                       b.builder(),
                       b.parent(),
                       detail::str(b.name()),
                       &spec,
                       &handle_,
                       &slot_);
  }
  template <typename... Inputs>
  Tensor operator()(Context& ctx, const Inputs&... inputs) const {
    return Op(slot_)(ctx, inputs...);
  }
  titan_module* handle() const { return handle_; }

 private:
  titan_module* handle_ = nullptr;
  titan_slot* slot_ = nullptr;
};

/// Sizes of a linear layer.
struct Features {
  int64_t in;
  int64_t out;
  bool bias = false;
};

/// y = x W^T (+ b); weight [out, in].
class Linear : public Leaf {
 public:
  [[gnu::noinline]] Linear(const Build& b,
                           Features f,
                           Init init,
                           Shard shard = replicate())
      : Leaf(b, "titan.linear/1", {}, parameters(f, init, shard)) {}

 private:
  static std::vector<ParameterSpec> parameters(Features f,
                                               Init init,
                                               Shard shard) {
    std::vector<ParameterSpec> out{{"weight", {f.out, f.in}, init, shard}};
    // A row-parallel layer's bias is added once, after the sum over ranks.
    const bool is_cut =
        shard.kind == TITAN_SHARD_COLUMN || shard.kind == TITAN_SHARD_VOCAB;
    if (f.bias)
      out.push_back(
          {"bias", {f.out}, init::zeros(), is_cut ? shard : replicate()});
    return out;
  }
};

struct Table {
  int64_t rows;
  int64_t dim;
};

/// Rows of a table [rows, dim] by integer ids.
class Embedding : public Leaf {
 public:
  [[gnu::noinline]] Embedding(const Build& b,
                              Table t,
                              Init init,
                              Shard shard = replicate())
      : Leaf(b,
             "titan.embedding/1",
             {},
             {{"weight", {t.rows, t.dim}, init, shard}}) {}
};

struct NormOptions {
  double eps;
  bool has_weight = true;
  bool has_bias = false;            // layer norm only
  int64_t offset = 0;               // 1: weights are stored as (w - 1)
  bool cast_before_weight = false;  // Hugging Face's order in low precision
};

/// x / sqrt(mean(x^2) + eps) * (offset + w)
class RMSNorm : public Leaf {
 public:
  [[gnu::noinline]] RMSNorm(const Build& b, int64_t dim, NormOptions options)
      : Leaf(b,
             "titan.rms_norm/1",
             {{"eps", options.eps},
              {"offset", options.offset},
              {"cast_before_weight", options.cast_before_weight}},
             parameters(dim, options)) {}

 private:
  static std::vector<ParameterSpec> parameters(int64_t dim, NormOptions o) {
    if (!o.has_weight) return {};
    return {
        {"weight", {dim}, init::constant(1.0 - static_cast<double>(o.offset))}};
  }
};

/// (x - mean) / sqrt(var + eps) * w + b
class LayerNorm : public Leaf {
 public:
  [[gnu::noinline]] LayerNorm(const Build& b, int64_t dim, NormOptions options)
      : Leaf(b,
             "titan.layer_norm/1",
             {{"eps", options.eps}},
             parameters(dim, options)) {}

 private:
  static std::vector<ParameterSpec> parameters(int64_t dim, NormOptions o) {
    std::vector<ParameterSpec> out;
    if (o.has_weight) out.push_back({"weight", {dim}, init::ones()});
    if (o.has_bias) out.push_back({"bias", {dim}, init::zeros()});
    return out;
  }
};

/// A parameter that a composite uses itself: `b / "sinks"`.
class Parameter {
 public:
  explicit Parameter(titan_parameter* handle) : handle_(handle) {}
  [[gnu::noinline]] Parameter(const Build& b,
                              std::vector<int64_t> sizes,
                              Init init,
                              Shard shard = replicate()) {
    const ParameterSpec spec{b.name(), std::move(sizes), init, shard};
    const titan_parameter_spec raw = spec.raw();
    detail::build_call(
        detail::builder().parameter, b.builder(), b.parent(), &raw, &handle_);
  }
  /// In compute dtype; the local part under tensor parallelism.
  Tensor operator()(Context& ctx) const {
    return Context::tensor([&](titan_tensor* out, titan_error* error) {
      return Context::api().parameter(ctx.handle(), handle_, out, error);
    });
  }

 private:
  titan_parameter* handle_ = nullptr;
};

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Module classes, by CRTP over `forward(Context&, tensors...)`. A call goes
// through the host, so that an override or an adapter can stand in its place.
// Read next: build.hpp.
#pragma once

#include <array>
#include <deque>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <titan/sdk/build.hpp>
#include <titan/sdk/context.hpp>

namespace titan {
namespace detail {

/// Inputs of a call, flattened: a tensor is one, an array or a list is many.
class InputList {
 public:
  template <typename... Inputs>
  explicit InputList(const Inputs&... inputs) {
    (add(inputs), ...);
  }
  const titan_tensor* data() const { return handles_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(handles_.size()); }

 private:
  void add(const TensorView& tensor) { handles_.push_back(tensor.handle()); }
  void add(None) { handles_.push_back(nullptr); }
  template <typename Range>
  requires(!std::is_convertible_v<const Range&, const TensorView&>) void add(
      const Range& range) {
    for (const Tensor& tensor : range) handles_.push_back(tensor.handle());
  }
  std::vector<titan_tensor> handles_;
};

/// Takes forward's parameters from the inputs, in order.
class InputCursor {
 public:
  explicit InputCursor(std::span<const titan_tensor> inputs)
      : inputs_(inputs) {}

  void take(Tensor& out) { out = Tensor::retain(next()); }
  template <std::size_t N>
  void take(std::array<Tensor, N>& out) {
    for (Tensor& tensor : out) take(tensor);
  }
  /// A vector takes all that is left.
  void take(std::vector<Tensor>& out) {
    while (at_ < inputs_.size()) take(out.emplace_back());
  }
  void finish() const {
    TITAN_CHECK_EQ(inputs_.size(), at_, "[forward] number of inputs");
  }

 private:
  titan_tensor next() {
    TITAN_CHECK(at_ < inputs_.size(),
                "[forward] number of inputs: expected more than ",
                inputs_.size());
    return inputs_[at_++];
  }
  std::span<const titan_tensor> inputs_;
  std::size_t at_ = 0;
};

template <typename Method>
struct ForwardTraits;
template <typename Result, typename Class, typename... Inputs>
struct ForwardTraits<Result (Class::*)(Context&, Inputs...)> {
  using Output = Result;
  using Arguments = std::tuple<std::remove_cvref_t<Inputs>...>;
};
template <typename Result, typename Class, typename... Inputs>
struct ForwardTraits<Result (Class::*)(Context&, Inputs...) const>
    : ForwardTraits<Result (Class::*)(Context&, Inputs...)> {};

template <typename Output>
inline constexpr bool kIsVector = std::is_same_v<Output, std::vector<Tensor>>;

// Number of tensors of a forward's result.
template <typename Output>
constexpr std::size_t output_count() {
  if constexpr (std::is_same_v<Output, Tensor>)
    return 1;
  else
    return std::tuple_size_v<Output>;
}

/// Gives the result's references to the host.
inline void give(Tensor& result, std::span<titan_tensor> out) {
  TITAN_CHECK_EQ(out.size(), 1u, "[forward] number of outputs");
  out[0] = result.release();
}
inline void give(std::span<Tensor> result, std::span<titan_tensor> out) {
  TITAN_CHECK_EQ(out.size(), result.size(), "[forward] number of outputs");
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = result[i].release();
}
template <typename... Tensors>
void give(std::tuple<Tensors...>& result, std::span<titan_tensor> out) {
  std::apply(
      [&](Tensors&... each) {
        std::array<Tensor, sizeof...(Tensors)> all{std::move(each)...};
        give(std::span<Tensor>(all), out);
      },
      result);
}

template <typename Class>
int32_t forward_trampoline(void* self,
                           titan_context* context,
                           const titan_tensor* in,
                           uint32_t num_in,
                           titan_tensor* out,
                           uint32_t num_out,
                           titan_error* error) noexcept {
  return guard(error, [&] {
    using Traits = ForwardTraits<decltype(&Class::forward)>;
    typename Traits::Arguments arguments;
    InputCursor cursor({in, num_in});
    std::apply([&](auto&... each) { (cursor.take(each), ...); }, arguments);
    cursor.finish();
    Context ctx(context);
    auto result = std::apply(
        [&](auto&... each) {
          return static_cast<Class*>(self)->forward(ctx, std::move(each)...);
        },
        arguments);
    give(result, {out, num_out});
  });
}

template <typename Class>
concept HasAfterStep = requires(const Class& module, Context& ctx) {
  module.after_step(ctx);
};

template <typename Class>
int32_t after_step_trampoline(void* self,
                              titan_context* context,
                              titan_error* error) noexcept {
  return guard(error, [&] {
    Context ctx(context);
    static_cast<const Class*>(self)->after_step(ctx);
  });
}

}  // namespace detail

/// Base of a composite module: `class Block : public titan::Module<Block>`.
/// `forward(Context&, Tensor | array<Tensor, N> | vector<Tensor>...)` returns
/// a Tensor, an array or tuple of them, or a vector (called by another module
/// it needs `int num_outputs() const`). `void after_step(Context&) const`, if
/// there is one, is called at the end of each step, to derive buffers from
/// others (abi/model.h). Neither copied nor moved: the host knows its address.
template <typename Derived>
class Module {
 public:
  /// Makes the module at `b`, which from then on names the module itself.
  Module(Build& b, std::string_view class_name) {
    titan_module_class description{sizeof(titan_module_class),
                                   0,
                                   detail::str(class_name),
                                   detail::forward_trampoline<Derived>,
                                   nullptr};
    if constexpr (detail::HasAfterStep<Derived>)
      description.after_step = detail::after_step_trampoline<Derived>;
    detail::build_call(detail::builder().module,
                       b.builder(),
                       b.parent(),
                       detail::str(b.name()),
                       &description,
                       static_cast<void*>(static_cast<Derived*>(this)),
                       &handle_);
    b.become(handle_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  titan_module* handle() const { return handle_; }

  /// Calls the module through the host.
  template <typename... Inputs>
  auto operator()(Context& ctx, const Inputs&... inputs) const {
    using Output =
        typename detail::ForwardTraits<decltype(&Derived::forward)>::Output;
    const detail::InputList in(inputs...);
    if constexpr (detail::kIsVector<Output>) {
      const auto* derived = static_cast<const Derived*>(this);
      std::vector<Tensor> out(static_cast<std::size_t>(derived->num_outputs()));
      call(ctx, in, out);
      return out;
    } else {
      std::array<Tensor, detail::output_count<Output>()> out;
      call(ctx, in, out);
      if constexpr (std::is_same_v<Output, Tensor>)
        return std::move(out[0]);
      else
        return out;
    }
  }

 private:
  void call(Context& ctx,
            const detail::InputList& in,
            std::span<Tensor> out) const {
    detail::HostError error;
    // A Tensor is one handle; empty ones are filled with new references.
    detail::check(
        Context::api().call(ctx.handle(),
                            handle_,
                            in.data(),
                            in.size(),
                            reinterpret_cast<titan_tensor*>(out.data()),
                            static_cast<uint32_t>(out.size()),
                            error),
        error);
  }
  titan_module* handle_ = nullptr;
};

/// "layers.0", "layers.1", ...: Block is built with (Build, extra..., index),
/// or without the index if it does not take one.
template <typename Block>
class ModuleList {
 public:
  template <typename... Extra>
  ModuleList(Build b, int64_t count, const Extra&... extra) {
    for (int64_t i = 0; i < count; ++i)
      if constexpr (std::is_constructible_v<Block,
                                            Build,
                                            const Extra&...,
                                            int64_t>)
        blocks_.emplace_back(b / i, extra..., i);
      else
        blocks_.emplace_back(b / i, extra...);
  }
  auto begin() const { return blocks_.begin(); }
  auto end() const { return blocks_.end(); }
  int64_t size() const { return static_cast<int64_t>(blocks_.size()); }
  const Block& operator[](int64_t i) const {
    return blocks_[static_cast<std::size_t>(i)];
  }

 private:
  std::deque<Block> blocks_;  // never moves its elements
};

}  // namespace titan

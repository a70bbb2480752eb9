// SPDX-License-Identifier: BSD-3-Clause
// Any ATen op by schema name. `AtenOp` is a constant of the call site that
// resolves itself once; `aten(...)` is the form for an op used in one place.
#pragma once

#include <array>
#include <atomic>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <titan/sdk/tensor.hpp>

namespace titan {

struct None {};
/// An absent optional argument or input.
inline constexpr None none;

/// One argument or attribute. Borrows what it is made of.
struct Value : titan_value {
  Value(None = {}) : titan_value{TITAN_VALUE_NONE, 0, 0, 0, nullptr, 0} {}
  /// An undefined tensor is an absent optional one.
  Value(const TensorView& tensor)
      : titan_value{tensor.defined() ? TITAN_VALUE_TENSOR : TITAN_VALUE_NONE,
                    0,
                    0,
                    0,
                    tensor.handle(),
                    0} {}
  template <typename Number>
  requires std::is_arithmetic_v<Number> Value(Number number)
      : titan_value{TITAN_VALUE_NONE, 0, 0, 0, nullptr, 0} {
    if constexpr (std::is_same_v<Number, bool>) {
      kind = TITAN_VALUE_BOOL;
      integer = number ? 1 : 0;
    } else if constexpr (std::is_integral_v<Number>) {
      kind = TITAN_VALUE_INT;
      integer = static_cast<int64_t>(number);
    } else {
      kind = TITAN_VALUE_DOUBLE;
      real = static_cast<double>(number);
    }
  }
  Value(Dtype dtype)
      : titan_value{TITAN_VALUE_DTYPE,
                    0,
                    static_cast<int64_t>(dtype),
                    0,
                    nullptr,
                    0} {}
  Value(std::string_view text)
      : titan_value{TITAN_VALUE_STRING, 0, 0, 0, text.data(), text.size()} {}
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(IntList items)
      : titan_value{TITAN_VALUE_INT_LIST, 0, 0, 0, items.data(), items.size()} {
  }
  Value(const std::vector<int64_t>& items) : Value(IntList(items)) {}
  Value(std::span<const double> items)
      : titan_value{TITAN_VALUE_DOUBLE_LIST,
                    0,
                    0,
                    0,
                    items.data(),
                    items.size()} {}
  Value(const std::vector<double>& items)
      : Value(std::span<const double>(items)) {}
  Value(std::span<const Tensor> items)
      : titan_value{TITAN_VALUE_TENSOR_LIST,
                    0,
                    0,
                    0,
                    items.data(),
                    items.size()} {}
  Value(const std::vector<Tensor>& items)
      : Value(std::span<const Tensor>(items)) {}
};
static_assert(sizeof(Value) == sizeof(titan_value));

/// An ATen op at a call site: `static constinit AtenOp op{"aten::add.Tensor"};`
class AtenOp {
 public:
  constexpr explicit AtenOp(const char* name) : name_(name) {}

  using Arguments = std::initializer_list<Value>;

  /// For an op that returns one tensor.
  Tensor operator()(Arguments arguments) const {
    titan_value result{};
    invoke({arguments.begin(), arguments.size()}, &result, 1);
    return tensor_of(result);
  }
  /// For an op that returns N tensors.
  template <std::size_t N>
  std::array<Tensor, N> outputs(Arguments arguments) const {
    std::array<titan_value, N> results{};
    invoke({arguments.begin(), arguments.size()}, results.data(), N);
    std::array<Tensor, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = tensor_of(results[i]);
    return out;
  }
  /// For an op that returns a list of tensors.
  std::vector<Tensor> list(Arguments arguments) const {
    titan_value result{};
    invoke({arguments.begin(), arguments.size()}, &result, 1);
    const auto* handles = static_cast<const titan_tensor*>(result.data);
    std::vector<Tensor> out;
    out.reserve(result.size);
    for (uint64_t i = 0; i < result.size; ++i)
      out.push_back(Tensor::adopt(handles[i]));
    return out;
  }
  /// For an op that returns nothing.
  void run(Arguments arguments) const {
    invoke({arguments.begin(), arguments.size()}, nullptr, 0);
  }
  void invoke(std::span<const Value> arguments,
              titan_value* results,
              uint32_t num_results) const {
    detail::HostError error;
    detail::check(host().op->aten_call(resolve(),
                                       arguments.data(),
                                       static_cast<uint32_t>(arguments.size()),
                                       results,
                                       num_results,
                                       error),
                  error);
  }

 private:
  static Tensor tensor_of(const titan_value& value) {
    if (value.kind != TITAN_VALUE_TENSOR) return {};
    // The host hands out a mutable handle through the frozen const field.
    return Tensor::adopt(
        static_cast<titan_tensor>(const_cast<void*>(value.data)));
  }
  titan_aten_op* resolve() const {
    titan_aten_op* handle = handle_.load(std::memory_order_acquire);
    if (handle != nullptr) [[likely]]
      return handle;
    detail::HostError error;
    detail::check(host().op->aten_resolve(detail::str(name_), &handle, error),
                  error);
    handle_.store(handle, std::memory_order_release);
    return handle;
  }
  const char* name_;
  mutable std::atomic<titan_aten_op*> handle_{nullptr};
};

/// Calls an op that returns one tensor: aten("aten::erf", x). Looks the name up
/// on each call; a hot call site keeps an AtenOp.
template <typename... Arguments>
Tensor aten(const char* name, const Arguments&... arguments) {
  return AtenOp(name)({Value(arguments)...});
}

/// The same for N tensors: auto [values, indices] = aten_outputs<2>(...).
template <std::size_t N, typename... Arguments>
std::array<Tensor, N> aten_outputs(const char* name,
                                   const Arguments&... arguments) {
  return AtenOp(name).outputs<N>({Value(arguments)...});
}

}  // namespace titan

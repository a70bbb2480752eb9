// SPDX-License-Identifier: BSD-3-Clause
// Kernels, kind titan.kernel/1, from a class to its C table. The class has
//   int score(const Shapes&) const       0 = refuse, 1..1000 = fitness; pure
//   void forward(const Call&) const
//   void backward(const Call&) const     may be absent
// and is used by several ranks at once: no mutable members.
#pragma once

#include <string_view>

#include <titan/sdk/object.hpp>
#include <titan/sdk/spec.hpp>

namespace titan {

/// Bound constants of a call site.
class AttributeView {
 public:
  AttributeView(const titan_attribute* data, uint64_t size)
      : data_(data), size_(size) {}

  /// The number or flag, or `otherwise` when it was not given.
  template <typename Number>
  requires std::is_arithmetic_v<Number> Number get(std::string_view name,
                                                   Number otherwise)
  const {
    const titan_value* value = find(name);
    if (value == nullptr) return otherwise;
    return value->kind == TITAN_VALUE_DOUBLE
               ? static_cast<Number>(value->real)
               : static_cast<Number>(value->integer);
  }
  std::string_view get(std::string_view name,
                       std::string_view otherwise) const {
    const titan_value* value = find(name);
    if (value == nullptr || value->kind != TITAN_VALUE_STRING) return otherwise;
    return {static_cast<const char*>(value->data), value->size};
  }

 private:
  const titan_value* find(std::string_view name) const {
    for (uint64_t i = 0; i < size_; ++i)
      if (detail::view(data_[i].name) == name) return &data_[i].value;
    return nullptr;
  }
  const titan_attribute* data_;
  uint64_t size_;
};

/// What `score` judges: input shapes and attributes, no data.
class Shapes {
 public:
  Shapes(std::span<const titan_tensor_spec* const> in,
         AttributeView attributes,
         const titan_text_sink* reason)
      : in_(in), attributes_(attributes), reason_(reason) {}

  std::size_t size() const { return in_.size(); }
  bool has(std::size_t i) const { return i < size() && in_[i] != nullptr; }
  TensorSpecView in(std::size_t i) const {
    TITAN_CHECK(has(i), "[kernel] no input ", i);
    return TensorSpecView(in_[i]);
  }
  const AttributeView& attributes() const { return attributes_; }
  /// Says why not; returns 0: `return shapes.refuse("D must be even");`
  int refuse(std::string_view why) const {
    if (reason_ != nullptr) detail::write_text(*reason_, why);
    return 0;
  }

 private:
  std::span<const titan_tensor_spec* const> in_;
  AttributeView attributes_;
  const titan_text_sink* reason_;
};

/// One forward or backward. Everything is borrowed; inputs are read-only.
class Call {
 public:
  explicit Call(const titan_call& raw) : raw_(raw) {}

  TensorView in(uint32_t i) const { return at(raw_.in, raw_.num_in, i); }
  /// Backward: the gradient of input i to write, undefined if not wanted.
  TensorView out(uint32_t i) const { return at(raw_.out, raw_.num_out, i); }
  TensorView saved(uint32_t i) const {
    return at(raw_.saved, raw_.num_saved, i);
  }
  /// Undefined stands for zero.
  TensorView grad_out(uint32_t i) const {
    return at(raw_.grad_out, raw_.num_grad_out, i);
  }
  uint32_t num_in() const { return raw_.num_in; }
  uint32_t num_out() const { return raw_.num_out; }
  uint32_t num_saved() const { return raw_.num_saved; }
  bool has_in(uint32_t i) const { return i < raw_.num_in && raw_.in[i]; }
  bool wants(uint32_t i) const { return (raw_.want >> i & 1) != 0; }
  /// Backward adds into `out` instead of overwriting it.
  bool accumulates() const { return (raw_.flags & TITAN_CALL_ACCUMULATE) != 0; }
  AttributeView attributes() const {
    return {raw_.attributes, raw_.num_attributes};
  }
  uint64_t seed() const { return raw_.seed; }
  /// cudaStream_t; null on the CPU.
  void* stream() const { return raw_.stream ? raw_.stream->native : nullptr; }
  const titan_call& raw() const { return raw_; }

 private:
  static TensorView at(const titan_tensor* list, uint32_t size, uint32_t i) {
    TITAN_CHECK(
        i < size, "[kernel] tensor index: expected below ", size, ", got ", i);
    return TensorView(list[i]);
  }
  const titan_call& raw_;
};

/// Dtypes a kernel takes: dtypes(Dtype::kF32, Dtype::kBF16).
template <typename... Dtypes>
constexpr uint64_t dtypes(Dtypes... each) {
  return ((uint64_t{1} << static_cast<int32_t>(each)) | ...);
}

/// The static match: what must hold before any code of the kernel runs.
struct KernelMatch {
  int32_t device_type = TITAN_DEVICE_CPU;
  uint32_t arch_min = 0;  // CUDA: sm number; 0 = any
  uint32_t arch_max = 0;
  uint64_t cpu_features = 0;  // TITAN_CPU_...
  uint64_t dtypes = 0;
  int32_t priority = 500;  // plugins: 500..899
  uint32_t flags = 0;      // TITAN_KERNEL_...
};

namespace detail {

template <typename Kernel>
inline constexpr bool kHasBackward = requires(const Kernel& kernel,
                                              const Call& call) {
  kernel.backward(call);
};

template <typename Kernel>
struct KernelFunctions {
  static int32_t score(const titan_object* self,
                       const titan_tensor_spec* const* in,
                       uint32_t num_in,
                       const titan_attribute* attributes,
                       uint64_t num_attributes,
                       const titan_text_sink* reason) noexcept {
    try {
      return object<Kernel>(self).score(
          Shapes({in, num_in}, {attributes, num_attributes}, reason));
    } catch (const std::exception& error) {
      if (reason != nullptr) write_text(*reason, error.what());
    } catch (...) {
      if (reason != nullptr) write_text(*reason, "exception of unknown type");
    }
    return 0;
  }
  static int32_t forward(const titan_object* self,
                         const titan_call* call,
                         titan_error* error) noexcept {
    return guard(error, [&] { object<Kernel>(self).forward(Call(*call)); });
  }
  static int32_t backward(const titan_object* self,
                          const titan_call* call,
                          titan_error* error) noexcept {
    return guard(error, [&] { object<Kernel>(self).backward(Call(*call)); });
  }
};

template <typename Kernel>
class KernelTable {
 public:
  template <typename Description>
  explicit KernelTable(const Description& d) {
    match_.struct_size = sizeof(match_);
    match_.device_type = d.match.device_type;
    match_.arch_min = d.match.arch_min;
    match_.arch_max = d.match.arch_max;
    match_.cpu_features = d.match.cpu_features;
    match_.dtype_mask = d.match.dtypes;
    match_.priority = d.match.priority;
    match_.flags = d.match.flags;
    match_.op_id = str(d.op_id);
    table_.struct_size = sizeof(table_);
    table_.match = &match_;
    table_.create = create_object<Kernel>;
    table_.destroy = destroy_object<Kernel>;
    table_.score = KernelFunctions<Kernel>::score;
    table_.forward = KernelFunctions<Kernel>::forward;
    if constexpr (kHasBackward<Kernel>)
      table_.backward = KernelFunctions<Kernel>::backward;
  }
  const void* get() const { return &table_; }

 private:
  titan_kernel_match match_{};
  titan_kernel_table table_{};
};

}  // namespace detail
}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
// Tensors: `TensorView` borrows a handle, `Tensor` owns a reference. Methods
// read like PyTorch's; they are ATen ops reached through the host, so autograd,
// devices and dtypes are the host's business. Bodies: tensor_shape.hpp and
// tensor_math.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include <titan/sdk/host.hpp>

namespace titan {

/// Torch's ScalarType numbers.
enum class Dtype : int32_t {
  kCompute = TITAN_DTYPE_COMPUTE,
  kU8 = TITAN_DTYPE_U8,
  kI8 = TITAN_DTYPE_I8,
  kI16 = TITAN_DTYPE_I16,
  kI32 = TITAN_DTYPE_I32,
  kI64 = TITAN_DTYPE_I64,
  kF16 = TITAN_DTYPE_F16,
  kF32 = TITAN_DTYPE_F32,
  kF64 = TITAN_DTYPE_F64,
  kBool = TITAN_DTYPE_BOOL,
  kBF16 = TITAN_DTYPE_BF16,
};

/// The dtype in which sums of `dtype` are taken: fp32, or fp64 for fp64.
constexpr Dtype accumulation_dtype(Dtype dtype) {
  return dtype == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
}

/// A borrowed list of integers: `{2, -1}`, a vector or a span. Lives as long as
/// its source; meant as a parameter only.
class IntList {
 public:
  IntList(std::initializer_list<int64_t> items)
      : IntList(std::span<const int64_t>(items.begin(), items.size())) {}
  IntList(std::span<const int64_t> items)
      : data_(items.data()), size_(items.size()) {}
  IntList(const std::vector<int64_t>& items)
      : data_(items.data()), size_(items.size()) {}
  const int64_t* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const int64_t* data_;
  std::size_t size_;
};

class Tensor;

/// A borrowed tensor: metadata and data. Valid while its owner is.
class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(titan_tensor handle) : handle_(handle) {}

  titan_tensor handle() const { return handle_; }
  bool defined() const { return handle_ != nullptr; }
  int64_t dim() const { return api().num_dims(handle_); }
  int64_t numel() const { return api().num_elements(handle_); }
  /// Extent of dimension `i`; negative counts from the end.
  int64_t size(int64_t i) const {
    const auto all = sizes();
    const auto dims = static_cast<int64_t>(all.size());
    TITAN_CHECK(-dims <= i && i < dims, "[tensor] no dimension ", i, all);
    return all[static_cast<std::size_t>(i < 0 ? i + dims : i)];
  }
  std::span<const int64_t> sizes() const {
    return {api().sizes(handle_), static_cast<std::size_t>(dim())};
  }
  std::span<const int64_t> strides() const {
    return {api().strides(handle_), static_cast<std::size_t>(dim())};
  }
  Dtype dtype() const { return static_cast<Dtype>(api().dtype(handle_)); }
  int32_t device_type() const { return api().device_type(handle_); }
  int32_t device_index() const { return api().device_index(handle_); }
  bool is_cpu() const { return device_type() == TITAN_DEVICE_CPU; }
  bool is_contiguous() const { return api().is_contiguous(handle_) != 0; }
  void* raw_data() const { return api().data(handle_); }
  /// First element. The element type is the caller's claim.
  template <typename Element>
  Element* data() const {
    return static_cast<Element*>(raw_data());
  }
  /// A reference of its own.
  Tensor retain() const;

 protected:
  static const titan_tensor_api& api() { return *host().tensor; }
  titan_tensor handle_ = nullptr;
};

using TensorPair = std::array<Tensor, 2>;

/// Owns one reference; a copy takes another one to the same storage.
class Tensor : public TensorView {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : TensorView(copy(other.handle_)) {}
  Tensor(Tensor&& other) noexcept
      : TensorView(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_ != nullptr) api().release(handle_);
  }
  /// Takes over a new reference / takes a reference of its own.
  static Tensor adopt(titan_tensor handle) { return Tensor(handle); }
  static Tensor retain(titan_tensor handle) { return Tensor(copy(handle)); }
  /// Gives the reference away.
  titan_tensor release() { return std::exchange(handle_, nullptr); }

  // Shape.
  Tensor view(IntList sizes) const;
  Tensor reshape(IntList sizes) const;
  Tensor unflatten(int64_t dim, IntList sizes) const;
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor permute(IntList dims) const;
  Tensor t() const { return transpose(0, 1); }
  Tensor unsqueeze(int64_t dim) const;
  Tensor squeeze(int64_t dim) const;
  Tensor expand(IntList sizes) const;
  Tensor repeat(IntList counts) const;
  Tensor repeat_interleave(int64_t count, int64_t dim) const;
  Tensor contiguous() const;
  Tensor flip(IntList dims) const;
  Tensor roll(int64_t shift, int64_t dim) const;

  // Pieces.
  Tensor slice(int64_t dim, int64_t begin, int64_t end = INT64_MAX) const;
  Tensor narrow(int64_t dim, int64_t begin, int64_t length) const;
  Tensor select(int64_t dim, int64_t index) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t count, int64_t dim = 0) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntList sizes, int64_t dim = 0) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor gather(int64_t dim, const Tensor& index) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor scatter(int64_t dim, const Tensor& index, double value) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& s) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& s) const;
  Tensor masked_fill(const Tensor& mask, double value) const;

  // Type and graph.
  Tensor to(Dtype dtype) const;
  Tensor to_like(const Tensor& other) const { return to(other.dtype()); }
  Tensor detach() const;

  // Reductions and scans.
  Tensor sum() const;
  Tensor sum(IntList dims, bool keepdim = false) const;
  Tensor sum(int64_t dim, bool keepdim = false) const {
    return sum(IntList{dim}, keepdim);
  }
  Tensor mean() const;
  Tensor mean(IntList dims, bool keepdim = false) const;
  Tensor mean(int64_t dim, bool keepdim = false) const {
    return mean(IntList{dim}, keepdim);
  }
  Tensor amax(IntList dims, bool keepdim = false) const;
  Tensor amax(int64_t dim, bool keepdim = false) const {
    return amax(IntList{dim}, keepdim);
  }
  Tensor amin(IntList dims, bool keepdim = false) const;
  Tensor argmax(int64_t dim, bool keepdim = false) const;
  Tensor cumsum(int64_t dim) const;
  Tensor logsumexp(int64_t dim, bool keepdim = false) const;
  /// {values, indices}
  TensorPair topk(int64_t k, int64_t dim = -1, bool sorted = true) const;
  TensorPair sort(int64_t dim = -1, bool descending = false) const;
  Tensor argsort(int64_t dim = -1, bool descending = false) const;

  // Element by element.
  Tensor exp() const;
  Tensor log() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor reciprocal() const;
  Tensor abs() const;
  Tensor sign() const;
  Tensor floor() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor silu() const;
  Tensor relu() const;
  Tensor softplus() const;
  /// Exact with "none", the tanh form with "tanh".
  Tensor gelu(const char* approximate = "none") const;
  Tensor square() const;
  Tensor pow(double exponent) const;
  Tensor clamp(double low, double high) const;
  Tensor clamp_min(double low) const;
  Tensor clamp_max(double high) const;
  Tensor softmax(int64_t dim) const;
  Tensor log_softmax(int64_t dim) const;
  Tensor logical_not() const;
  Tensor floor_divide(int64_t divisor) const;
  Tensor remainder(int64_t divisor) const;
  Tensor zeros_like() const;
  Tensor ones_like() const;

  // Products.
  Tensor matmul(const Tensor& other) const;
  Tensor outer(const Tensor& other) const;

  // In place: for optimizers, never on a tensor that was an input.
  Tensor& copy_(const Tensor& source);

 private:
  explicit Tensor(titan_tensor handle) : TensorView(handle) {}
  static titan_tensor copy(titan_tensor handle) {
    if (handle == nullptr) return nullptr;
    titan_tensor out = nullptr;
    detail::HostError error;
    detail::check(api().retain(handle, &out, error), error);
    return out;
  }
};

// Lists of tensors cross as arrays of handles.
static_assert(sizeof(Tensor) == sizeof(titan_tensor));
static_assert(sizeof(TensorView) == sizeof(titan_tensor));

inline Tensor TensorView::retain() const {
  return Tensor::retain(handle_);
}

}  // namespace titan

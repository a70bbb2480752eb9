// SPDX-License-Identifier: BSD-3-Clause
// Bodies of Tensor's methods that change shape or take pieces: one ATen op
// each.
#pragma once

#include <titan/sdk/aten.hpp>

namespace titan {

inline Tensor Tensor::view(IntList sizes) const {
  static constinit AtenOp op{"aten::view"};
  return op({*this, sizes});
}

inline Tensor Tensor::reshape(IntList sizes) const {
  static constinit AtenOp op{"aten::reshape"};
  return op({*this, sizes});
}

inline Tensor Tensor::unflatten(int64_t dim, IntList sizes) const {
  static constinit AtenOp op{"aten::unflatten.int"};
  return op({*this, dim, sizes});
}

inline Tensor Tensor::flatten(int64_t first, int64_t last) const {
  static constinit AtenOp op{"aten::flatten.using_ints"};
  return op({*this, first, last});
}

inline Tensor Tensor::transpose(int64_t a, int64_t b) const {
  static constinit AtenOp op{"aten::transpose.int"};
  return op({*this, a, b});
}

inline Tensor Tensor::permute(IntList dims) const {
  static constinit AtenOp op{"aten::permute"};
  return op({*this, dims});
}

inline Tensor Tensor::unsqueeze(int64_t dim) const {
  static constinit AtenOp op{"aten::unsqueeze"};
  return op({*this, dim});
}

inline Tensor Tensor::squeeze(int64_t dim) const {
  static constinit AtenOp op{"aten::squeeze.dim"};
  return op({*this, dim});
}

inline Tensor Tensor::expand(IntList sizes) const {
  static constinit AtenOp op{"aten::expand"};
  return op({*this, sizes});
}

inline Tensor Tensor::repeat(IntList counts) const {
  static constinit AtenOp op{"aten::repeat"};
  return op({*this, counts});
}

inline Tensor Tensor::repeat_interleave(int64_t count, int64_t dim) const {
  static constinit AtenOp op{"aten::repeat_interleave.self_int"};
  return op({*this, count, dim});
}

inline Tensor Tensor::contiguous() const {
  static constinit AtenOp op{"aten::contiguous"};
  return op({*this});
}

inline Tensor Tensor::flip(IntList dims) const {
  static constinit AtenOp op{"aten::flip"};
  return op({*this, dims});
}

inline Tensor Tensor::roll(int64_t shift, int64_t dim) const {
  static constinit AtenOp op{"aten::roll"};
  return op({*this, IntList{shift}, IntList{dim}});
}

inline Tensor Tensor::slice(int64_t dim, int64_t begin, int64_t end) const {
  static constinit AtenOp op{"aten::slice.Tensor"};
  return op({*this, dim, begin, end});
}

inline Tensor Tensor::narrow(int64_t dim, int64_t begin, int64_t length) const {
  static constinit AtenOp op{"aten::narrow"};
  return op({*this, dim, begin, length});
}

inline Tensor Tensor::select(int64_t dim, int64_t index) const {
  static constinit AtenOp op{"aten::select.int"};
  return op({*this, dim, index});
}

inline std::vector<Tensor> Tensor::unbind(int64_t dim) const {
  static constinit AtenOp op{"aten::unbind.int"};
  return op.list({*this, dim});
}

inline std::vector<Tensor> Tensor::chunk(int64_t count, int64_t dim) const {
  static constinit AtenOp op{"aten::chunk"};
  return op.list({*this, count, dim});
}

inline std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const {
  static constinit AtenOp op{"aten::split.Tensor"};
  return op.list({*this, size, dim});
}

inline std::vector<Tensor> Tensor::split(IntList sizes, int64_t dim) const {
  static constinit AtenOp op{"aten::split_with_sizes"};
  return op.list({*this, sizes, dim});
}

inline Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  static constinit AtenOp op{"aten::index_select"};
  return op({*this, dim, index});
}

inline Tensor Tensor::gather(int64_t dim, const Tensor& index) const {
  static constinit AtenOp op{"aten::gather"};
  return op({*this, dim, index});
}

inline Tensor Tensor::scatter(int64_t dim,
                              const Tensor& index,
                              const Tensor& source) const {
  static constinit AtenOp op{"aten::scatter.src"};
  return op({*this, dim, index, source});
}

inline Tensor Tensor::scatter(int64_t dim,
                              const Tensor& index,
                              double value) const {
  static constinit AtenOp op{"aten::scatter.value"};
  return op({*this, dim, index, value});
}

inline Tensor Tensor::scatter_add(int64_t dim,
                                  const Tensor& index,
                                  const Tensor& s) const {
  static constinit AtenOp op{"aten::scatter_add"};
  return op({*this, dim, index, s});
}

inline Tensor Tensor::index_add(int64_t dim,
                                const Tensor& index,
                                const Tensor& s) const {
  static constinit AtenOp op{"aten::index_add"};
  return op({*this, dim, index, s});
}

inline Tensor Tensor::masked_fill(const Tensor& mask, double value) const {
  static constinit AtenOp op{"aten::masked_fill.Scalar"};
  return op({*this, mask, value});
}

}  // namespace titan

// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/fake_shapes.h"

#include <map>

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include "core/op/tensor_meta.h"

namespace titan::dispatch {
namespace {

using torch::jit::Stack;
using Results = std::vector<at::Tensor>;

at::Tensor like(const at::Tensor& tensor, at::IntArrayRef sizes) {
  return at::empty(sizes, tensor.options());
}

Results flash_forward(const Stack& stack) {
  // out and lse are laid out [B, L, N, ...] in memory, as the CPU kernel does.
  const at::Tensor& query = stack[0].toTensor();
  const at::Tensor out =
      like(query, {query.size(0), query.size(2), query.size(1), query.size(3)})
          .transpose(1, 2);
  const at::Tensor lse =
      at::empty({query.size(0), query.size(2), query.size(1)},
                query.options().dtype(op::acc_type(query.scalar_type())))
          .transpose(1, 2);
  return {out, lse};
}

Results flash_backward(const Stack& stack) {
  const auto grad = [&stack](size_t i) {
    const at::Tensor& x = stack[i].toTensor();
    return like(x, {x.size(0), x.size(2), x.size(1), x.size(3)})
        .transpose(1, 2);
  };
  return {grad(1), grad(2), grad(3)};
}

Results index_select(const Stack& stack) {
  const at::Tensor& x = stack[0].toTensor();
  auto sizes = x.sizes().vec();
  sizes[c10::maybe_wrap_dim(stack[1].toInt(), x.dim())] =
      stack[2].toTensor().numel();
  return {like(x, sizes)};
}

Results where(const Stack& stack) {
  const at::Tensor& a = stack[1].toTensor();
  const at::Tensor& b = stack[2].toTensor();
  const auto sizes = at::infer_size(stack[0].toTensor().sizes(),
                                    at::infer_size(a.sizes(), b.sizes()));
  return {at::empty(sizes, a.options().dtype(at::result_type(a, b)))};
}

Results embedding_dense_backward(const Stack& stack) {
  const at::Tensor& grad = stack[0].toTensor();
  return {like(grad, {stack[2].toInt(), grad.size(-1)})};
}

Results native_dropout(const Stack& stack) {
  const at::Tensor& x = stack[0].toTensor();
  return {at::empty_like(x), at::empty_like(x, x.options().dtype(at::kBool))};
}

Results aminmax(const Stack& stack) {
  const at::Tensor& x = stack[0].toTensor();
  return {like(x, {}), like(x, {})};
}

Results logical(const Stack& stack) {
  const at::Tensor& a = stack[0].toTensor();
  const auto sizes = at::infer_size(a.sizes(), stack[1].toTensor().sizes());
  return {at::empty(sizes, a.options().dtype(at::kBool))};
}

Results embedding(const Stack& stack) {
  const at::Tensor& weight = stack[0].toTensor();
  auto sizes = stack[1].toTensor().sizes().vec();
  sizes.push_back(weight.size(1));
  return {like(weight, sizes)};
}

Results logical_not(const Stack& stack) {
  const at::Tensor& x = stack[0].toTensor();
  return {at::empty(x.sizes(), x.options().dtype(at::kBool))};
}

const std::map<std::string, Results (*)(const Stack&)>& shape_functions() {
  static const std::map<std::string, Results (*)(const Stack&)> functions = {
      {"aten::_scaled_dot_product_flash_attention_for_cpu", flash_forward},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
       flash_backward},
      {"aten::_aminmax", aminmax},
      {"aten::embedding", embedding},
      {"aten::embedding_dense_backward", embedding_dense_backward},
      {"aten::index_select", index_select},
      {"aten::logical_and", logical},
      {"aten::logical_not", logical_not},
      {"aten::logical_or", logical},
      {"aten::native_dropout", native_dropout},
      {"aten::where", where}};
  return functions;
}

/// 2 * elements of `a` * columns of `b`.
double product_flops(const Stack& stack, size_t a, size_t b) {
  return 2.0 * static_cast<double>(stack[a].toTensor().numel()) *
         static_cast<double>(stack[b].toTensor().size(-1));
}

double flash_flops(const Stack& stack, size_t query, double products) {
  const at::Tensor& q = stack[query].toTensor();
  const at::Tensor& k = stack[query + 1].toTensor();
  return products * 2.0 * static_cast<double>(q.numel()) *
         static_cast<double>(k.size(2));
}

}  // namespace

bool fake_shape(const std::string& name, Stack& stack) {
  const auto found = shape_functions().find(name);
  if (found == shape_functions().end()) return false;
  Results results = found->second(stack);
  stack.clear();
  for (at::Tensor& result : results) stack.emplace_back(std::move(result));
  return true;
}

double aten_flops(const std::string& name, const Stack& stack) {
  if (name == "aten::mm" || name == "aten::bmm")
    return product_flops(stack, 0, 1);
  if (name == "aten::addmm" || name == "aten::baddbmm")
    return product_flops(stack, 1, 2);
  if (name == "aten::_scaled_dot_product_flash_attention_for_cpu")
    return flash_flops(stack, 0, 2);
  if (name == "aten::_scaled_dot_product_flash_attention_for_cpu_backward")
    return flash_flops(stack, 1, 5);
  if (name == "aten::convolution") {
    const at::Tensor& input = stack[0].toTensor();
    const at::Tensor& weight = stack[1].toTensor();
    // Exact for stride 1 and kept size; input.size(1) cancels.
    const int64_t places = input.numel() / input.size(1);
    return 2.0 * static_cast<double>(places) *
           static_cast<double>(weight.numel());
  }
  return 0;
}

}  // namespace titan::dispatch

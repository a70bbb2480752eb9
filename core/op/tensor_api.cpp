// SPDX-License-Identifier: BSD-3-Clause
// The titan_tensor_api table.
#include "core/op/tensor_api.h"

#include <ATen/ATen.h>

namespace titan::op {
namespace {

int32_t retain(titan_tensor handle, titan_tensor* out, titan_error* error) {
  return guard_torch(
      error, "tensor.retain", [&] { *out = new_handle(borrow(handle)); });
}

void release_tensor(titan_tensor handle) {
  delete reinterpret_cast<at::Tensor*>(handle);
}

int64_t num_dims(titan_tensor handle) {
  return borrow(handle).dim();
}

const int64_t* sizes(titan_tensor handle) {
  return borrow(handle).sizes().data();
}

const int64_t* strides(titan_tensor handle) {
  return borrow(handle).strides().data();
}

int64_t num_elements(titan_tensor handle) {
  return borrow(handle).numel();
}

int32_t dtype(titan_tensor handle) {
  return static_cast<int32_t>(borrow(handle).scalar_type());
}

int32_t device_type(titan_tensor handle) {
  return static_cast<int32_t>(borrow(handle).device().type());
}

int32_t device_index(titan_tensor handle) {
  return static_cast<int32_t>(borrow(handle).device().index());
}

int32_t is_contiguous(titan_tensor handle) {
  return borrow(handle).is_contiguous() ? 1 : 0;
}

void* data(titan_tensor handle) {
  const at::Tensor& tensor = borrow(handle);
  if (!tensor.has_storage() || tensor.storage().data() == nullptr)
    return nullptr;
  return tensor.data_ptr();
}

int32_t empty(titan_tensor like,
              int32_t dtype_code,
              const int64_t* dims,
              uint32_t dim_count,
              titan_tensor* out,
              titan_error* error) {
  return guard_torch(error, "tensor.empty", [&] {
    const at::Tensor& model = borrow(like);
    const auto type = dtype_code == TITAN_DTYPE_COMPUTE
                          ? model.scalar_type()
                          : static_cast<at::ScalarType>(dtype_code);
    *out = new_handle(at::empty(at::IntArrayRef(dims, dim_count),
                                model.options().dtype(type)));
  });
}

}  // namespace

const titan_tensor_api& tensor_api() {
  static const titan_tensor_api table = {sizeof(titan_tensor_api),
                                         0,
                                         retain,
                                         release_tensor,
                                         num_dims,
                                         sizes,
                                         strides,
                                         num_elements,
                                         dtype,
                                         device_type,
                                         device_index,
                                         is_contiguous,
                                         data,
                                         empty};
  return table;
}

titan_tensor new_handle(at::Tensor tensor) {
  return reinterpret_cast<titan_tensor>(new at::Tensor(std::move(tensor)));
}

}  // namespace titan::op
